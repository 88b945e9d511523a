import { GeodeError, isGeodeError } from '../base/errors.ts';
import type { LanguageName } from '../seams/run.ts';
import type { Language } from './languages/language.ts';

/** Debian's packages of the programs that run each language. */
const packages: Readonly<Record<LanguageName, string>> = {
  python: 'python3-minimal',
  javascript: 'nodejs',
  typescript: 'nodejs',
  shell: 'dash',
  rust: 'rustc',
  go: 'golang-go',
};

/**
 * The error of a run whose interpreter or compiler is missing, with the ways to get it; any other error unchanged.
 * `image` is null where the sandbox uses the programs of the machine.
 */
export function withMissingProgram(
  error: unknown,
  { name }: Language,
  image: string | null,
  usualImage: string,
): unknown {
  const program = isGeodeError(error, 'spawn_failed') && /no program (\S+) in/.exec(error.message)?.[1];
  if (!program) return error;
  const where = image === null ? 'on this machine, whose programs the sandbox uses' : `in the image ${image}`;
  return new GeodeError('spawn_failed', `There is no ${program} ${where}.`, {
    cause: error,
    hint:
      image === null
        ? `Install it (on Debian: apt-get install ${packages[name]}), or use an image that has it: geode run --runtime docker --image ${usualImage} …`
        : `Use an image that has it: --image ${usualImage}`,
  });
}
