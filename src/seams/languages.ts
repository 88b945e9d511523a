import { GeodeError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import type { LanguageName } from './run.ts';

export interface LanguageWords {
  readonly aliases: readonly string[];
  /** Without the dot. Source code is saved with the first one; a file with any of them is in this language. */
  readonly extensions: readonly [string, ...string[]];
}

/** The languages of runs, with their names and file extensions. */
export const languageWords: Readonly<Record<LanguageName, LanguageWords>> = {
  python: { aliases: ['py', 'python3'], extensions: ['py'] },
  javascript: { aliases: ['js', 'node'], extensions: ['js', 'mjs', 'cjs'] },
  typescript: { aliases: ['ts'], extensions: ['ts', 'mts', 'cts'] },
  shell: { aliases: ['sh', 'bash'], extensions: ['sh'] },
  rust: { aliases: ['rs'], extensions: ['rs'] },
  go: { aliases: ['golang'], extensions: ['go'] },
};

const all = Object.entries(languageWords) as readonly (readonly [LanguageName, LanguageWords])[];

/** Finds a language by its name or an alias, in any case. Throws `invalid_input`. */
export function languageNamed(word: string): LanguageName {
  const wanted = word.toLowerCase();
  const found = all.find(([name, { aliases }]) => name === wanted || aliases.includes(wanted));
  if (found !== undefined) return found[0];
  const near = nearest(
    wanted,
    all.flatMap(([name, { aliases }]) => [name, ...aliases]),
  );
  const meant = near === undefined ? '' : ` Did you mean "${near}"?`;
  throw new GeodeError('invalid_input', `There is no language ${JSON.stringify(word)}.${meant}`, {
    hint: `Use one of ${all.map(([name]) => name).join(', ')}.`,
  });
}

/** Finds a language by a file extension; undefined for an unknown one. */
export function languageOfFile(path: string): LanguageName | undefined {
  const extension = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
  return all.find(([, { extensions }]) => extensions.includes(extension))?.[0];
}
