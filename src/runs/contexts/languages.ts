import { readFile } from 'node:fs/promises';
import { GeodeError } from '../../core/errors.ts';

export const contextLanguages = ['python', 'javascript'] as const;
export type ContextLanguage = (typeof contextLanguages)[number];

/** How the interpreter of a language is started and stopped short. Its kernel is fed to it through stdin. */
export interface KernelSpec {
  readonly language: ContextLanguage;
  /** Looked up in the sandbox's PATH. */
  readonly program: string;
  /** What stands before the bootstrap in the command line. */
  readonly flags: readonly string[];
  readonly folder: URL;
  readonly bootstrap: string;
  /** In the order in which they are loaded. */
  readonly parts: readonly { readonly name: string; readonly file: string }[];
  /** A signal to the process, or a command to the kernel. */
  readonly interrupt: 'signal' | 'command';
}

const python: KernelSpec = {
  language: 'python',
  program: 'python3',
  flags: ['-c'],
  folder: new URL('./kernels/python/', import.meta.url),
  bootstrap: 'bootstrap.py',
  parts: ['geode_wire', 'geode_rich', 'geode_plots', 'geode_session', 'geode_kernel'].map((name) => ({
    name,
    file: `${name}.py`,
  })),
  interrupt: 'signal',
};

const javascript: KernelSpec = {
  language: 'javascript',
  program: 'node',
  // An interrupt may end an execution inside a callback, where Node would take the unwinding for corruption.
  flags: ['--no-force-async-hooks-checks', '-e'],
  folder: new URL('./kernels/javascript/', import.meta.url),
  bootstrap: 'bootstrap.cjs',
  parts: ['wire', 'rich', 'source', 'evaluate', 'control', 'kernel'].map((name) => ({
    name: `./${name}.cjs`,
    file: `${name}.cjs`,
  })),
  interrupt: 'command',
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

/** Read once: the files belong to this program and do not change under it. */
export function kernelSource(spec: KernelSpec): Promise<KernelSource> {
  const known = sources.get(spec.language) ?? readSource(spec);
  sources.set(spec.language, known);
  return known;
}

async function readSource({ folder, bootstrap, parts }: KernelSpec): Promise<KernelSource> {
  const text = (file: string) => readFile(new URL(file, folder), 'utf8');
  return {
    bootstrap: await text(bootstrap),
    parts: await Promise.all(parts.map(async ({ name, file }) => [name, await text(file)] as const)),
  };
}
