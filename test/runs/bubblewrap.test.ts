import { inject } from 'vitest';
import { languageNames } from '../../src/runs/languages/language.ts';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import { openRuns } from './harness.ts';
import { languageSuite } from './language-suite.ts';
import { withOwnNode } from './own-node.ts';
import { missingTools } from './toolchain.ts';

const { bubblewrap } = inject('engines');
const make = withOwnNode(bubblewrapRuntime);
const missing = bubblewrap.available ? await missingTools(make) : undefined;

for (const language of languageNames) {
  languageSuite({
    language,
    runtime: 'bubblewrap',
    unavailable: bubblewrap.available ? missing?.[language] : bubblewrap.reason,
    depth: language === 'python' || language === 'javascript' ? 'whole' : 'brief',
    open: () => openRuns(make),
  });
}
