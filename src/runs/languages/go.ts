import { languageWords } from '../../seams/languages.ts';
import type { Language } from './language.ts';

export const go: Language = {
  name: 'go',
  ...languageWords.go,
  memoryBytes: 1024 ** 3,
  compile: ({ source, build }) => ({
    argv: ['go', 'build', '-o', `${build}/main`, source],
    // No network to download a module or a toolchain: fail at once instead of waiting.
    env: { TMPDIR: build, GOCACHE: `${build}/cache`, CGO_ENABLED: '0', GOPROXY: 'off', GOTOOLCHAIN: 'local' },
  }),
  run: ({ build }) => ({ argv: [`${build}/main`] }),
};
