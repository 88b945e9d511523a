import { inject } from 'vitest';
import { languageNames } from '../../src/runs/languages/language.ts';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import { openRuns } from './harness.ts';
import { languageSuite } from './language-suite.ts';
import { missingTools } from './toolchain.ts';

const { bubblewrap } = inject('engines');
const missing = bubblewrap.available ? await missingTools(bubblewrapRuntime) : undefined;

for (const language of languageNames) {
  languageSuite({
    language,
    runtime: 'bubblewrap',
    unavailable: bubblewrap.available ? missing?.[language] : bubblewrap.reason,
    open: () => openRuns(bubblewrapRuntime),
  });
}
