import { languageWords } from '../../seams/languages.ts';
import type { Language } from './language.ts';

export const go: Language = {
  name: 'go',
  ...languageWords.go,
  memoryBytes: 1024 ** 3,
  compile: ({ source, build }) => ({
    argv: ['go', 'build', '-o', `${build}/main`, source],
    // There is no network to fetch a module or a toolchain from: fail at once, not after a wait.
    env: { TMPDIR: build, GOCACHE: `${build}/cache`, CGO_ENABLED: '0', GOPROXY: 'off', GOTOOLCHAIN: 'local' },
  }),
  run: ({ build }) => ({ argv: [`${build}/main`] }),
};
