import { inject } from 'vitest';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import { type LanguageName, languageNames } from '../../src/seams/run.ts';
import { openRuns } from './harness.ts';
import { type LanguageSuite, languageSuite } from './language-suite.ts';
import { withOwnNode } from './own-node.ts';
import { missingTools } from './toolchain.ts';

const { bubblewrap } = inject('engines');
const make = withOwnNode(bubblewrapRuntime);
const missing = bubblewrap.available ? await missingTools(make) : undefined;

const depths: Partial<Record<LanguageName, LanguageSuite['depth']>> = {
  python: 'whole',
  javascript: 'language',
};

for (const language of languageNames) {
  languageSuite({
    language,
    runtime: 'bubblewrap',
    unavailable: bubblewrap.available ? missing?.[language] : bubblewrap.reason,
    depth: depths[language] ?? 'brief',
    open: () => openRuns(make),
  });
}
