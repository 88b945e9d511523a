import { readFile } from 'node:fs/promises';
import { GeodeError } from '../../base/errors.ts';
import { type ContextLanguage, contextLanguages } from '../../seams/run.ts';

/** How the interpreter of a language is started. It receives its kernel through stdin. */
export interface KernelSpec {
  readonly language: ContextLanguage;
  /** Searched in the sandbox's PATH. */
  readonly program: string;
  /** Flags before the bootstrap in the command line. */
  readonly flags: readonly string[];
  readonly bootstrap: URL;
  /** In loading order. */
  readonly parts: readonly (readonly [name: string, file: URL])[];
}

const python: KernelSpec = {
  language: 'python',
  program: 'python3',
  flags: ['-c'],
  bootstrap: new URL('./kernels/python/bootstrap.py', import.meta.url),
  parts: [
    ['geode_commands', new URL('./kernels/python/geode_commands.py', import.meta.url)],
    ['geode_interrupts', new URL('./kernels/python/geode_interrupts.py', import.meta.url)],
    ['geode_wire', new URL('./kernels/python/geode_wire.py', import.meta.url)],
    ['geode_rich', new URL('./kernels/python/geode_rich.py', import.meta.url)],
    ['geode_lines', new URL('./kernels/python/geode_lines.py', import.meta.url)],
    ['geode_plots', new URL('./kernels/python/geode_plots.py', import.meta.url)],
    ['geode_session', new URL('./kernels/python/geode_session.py', import.meta.url)],
    ['geode_kernel', new URL('./kernels/python/geode_kernel.py', import.meta.url)],
  ],
};

const javascript: KernelSpec = {
  language: 'javascript',
  program: 'node',
  // An interrupt may end code inside a callback, and Node would take the unwinding for corruption.
  flags: ['--no-force-async-hooks-checks', '-e'],
  bootstrap: new URL('./kernels/javascript/bootstrap.cjs', import.meta.url),
  parts: [
    ['./streams.cjs', new URL('./kernels/javascript/streams.cjs', import.meta.url)],
    ['./frames.cjs', new URL('./kernels/javascript/frames.cjs', import.meta.url)],
    ['./wire.cjs', new URL('./kernels/javascript/wire.cjs', import.meta.url)],
    ['./rich.cjs', new URL('./kernels/javascript/rich.cjs', import.meta.url)],
    ['./source.cjs', new URL('./kernels/javascript/source.cjs', import.meta.url)],
    ['./evaluate.cjs', new URL('./kernels/javascript/evaluate.cjs', import.meta.url)],
    ['./control.cjs', new URL('./kernels/javascript/control.cjs', import.meta.url)],
    ['./kernel.cjs', new URL('./kernels/javascript/kernel.cjs', import.meta.url)],
  ],
};

export function kernelSpec(language: string): KernelSpec {
  const spec = [python, javascript].find((candidate) => candidate.language === language);
  if (spec !== undefined) return spec;
  throw new GeodeError('invalid_input', `There are no contexts for ${language}.`, {
    hint: `Use one of ${contextLanguages.join(', ')}.`,
  });
}

export interface KernelSource {
  readonly bootstrap: string;
  readonly parts: readonly (readonly [name: string, source: string])[];
}

const sources = new Map<ContextLanguage, Promise<KernelSource>>();

/** Read once: the files belong to this program and do not change. */
export function kernelSource(spec: KernelSpec): Promise<KernelSource> {
  const known = sources.get(spec.language) ?? readSource(spec);
  sources.set(spec.language, known);
  return known;
}

async function readSource({ bootstrap, parts }: KernelSpec): Promise<KernelSource> {
  return {
    bootstrap: await readFile(bootstrap, 'utf8'),
    parts: await Promise.all(
      parts.map(async ([name, file]) => [name, await readFile(file, 'utf8')] as const),
    ),
  };
}
