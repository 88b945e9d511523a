import { nativeRuntime } from '../../src/runtimes/native/native.ts';
import { languageNames } from '../../src/seams/run.ts';
import { openRuns } from './harness.ts';
import { languageSuite } from './language-suite.ts';
import { withOwnNode } from './own-node.ts';
import { missingTools } from './toolchain.ts';

const make = withOwnNode(nativeRuntime);
const missing = await missingTools(make);

for (const language of languageNames) {
  languageSuite({
    language,
    runtime: 'native',
    unavailable: missing[language],
    depth: language === 'python' ? 'whole' : 'brief',
    open: () => openRuns(make),
  });
}
