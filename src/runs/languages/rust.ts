import { languageWords } from '../../seams/languages.ts';
import type { Language } from './language.ts';

export const rust: Language = {
  name: 'rust',
  ...languageWords.rust,
  memoryBytes: 1024 ** 3,
  compile: ({ source, build }) => ({
    // Without optimisation: compiles in half the time, and an overflow panics.
    argv: ['rustc', '--edition', '2021', '-o', `${build}/main`, source],
    env: { TMPDIR: build },
  }),
  run: ({ build }) => ({ argv: [`${build}/main`] }),
};
