import { languageNames } from '../../src/runs/languages/language.ts';
import { nativeRuntime } from '../../src/runtimes/native/native.ts';
import { openRuns } from './harness.ts';
import { languageSuite } from './language-suite.ts';
import { missingTools } from './toolchain.ts';

const missing = await missingTools(nativeRuntime);

for (const language of languageNames) {
  languageSuite({
    language,
    runtime: 'native',
    unavailable: missing[language],
    open: () => openRuns(nativeRuntime),
  });
}
