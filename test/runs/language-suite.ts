import { afterAll, beforeAll, describe } from 'vitest';
import type { RunOptions } from '../../src/runs/options.ts';
import type { LanguageName } from '../../src/seams/run.ts';
import type { RunResult } from '../../src/seams/run-result.ts';
import { fixtureText } from '../contracts/harness.ts';
import { briefBehaviour } from './behaviour/brief.ts';
import { filesBehaviour } from './behaviour/files.ts';
import { hostileBehaviour } from './behaviour/hostile.ts';
import { ioBehaviour } from './behaviour/io.ts';
import { sourceBehaviour } from './behaviour/source.ts';
import { wallsBehaviour } from './behaviour/walls.ts';
import type { RunsHarness } from './harness.ts';

export interface LanguageSuite {
  readonly language: LanguageName;
  readonly runtime: string;
  /** Why this machine cannot run it; it then stands in the suite's name. */
  readonly unavailable?: string | undefined;
  /**
   * `language` where another language shows what the runtime does to any program; `brief` where another runtime also
   * shows what the language does; `whole` if not given.
   */
  readonly depth?: keyof typeof behaviours;
  readonly open: () => Promise<RunsHarness>;
}

/** The input of a behaviour test. */
export interface Bench {
  readonly language: LanguageName;
  readonly harness: () => RunsHarness;
  /** The language's program of all behaviours, told which one to show. */
  readonly source: () => string;
  show(
    name: string,
    args?: readonly string[],
    options?: RunOptions & { outputLimitBytes?: number },
  ): Promise<RunResult>;
  /** Runs other source in the same language. */
  run(code: string): Promise<RunResult>;
}

const extensions: Readonly<Record<LanguageName, string>> = {
  python: 'py',
  javascript: 'js',
  typescript: 'ts',
  shell: 'sh',
  rust: 'rs',
  go: 'go',
};

const behaviours = {
  whole: [ioBehaviour, sourceBehaviour, filesBehaviour, hostileBehaviour, wallsBehaviour],
  language: [ioBehaviour, sourceBehaviour],
  brief: [briefBehaviour],
} as const;

/** RUN-1…6, RUN-9: what a run of any language does, the same for all; proven by what the program prints. */
export function languageSuite({
  language,
  runtime,
  unavailable,
  depth = 'whole',
  open,
}: LanguageSuite): void {
  const title =
    unavailable === undefined
      ? `RUN-1: ${language} on ${runtime}`
      : `${language} on ${runtime} (skipped: ${unavailable})`;
  describe.skipIf(unavailable !== undefined)(title, () => {
    let opened: RunsHarness | undefined;
    let text = '';
    const harness = () => {
      if (opened === undefined) throw new Error('the harness is not open');
      return opened;
    };
    beforeAll(async () => {
      text = await fixtureText(`behave/behave.${extensions[language]}`);
      opened = await open();
    });
    afterAll(async () => {
      await opened?.close();
    });
    const bench: Bench = {
      language,
      harness,
      source: () => text,
      show: (name, args = [], options = {}) =>
        harness().runs.run(text, language, { ...options, argv: [name, ...args] }),
      run: (code) => harness().runs.run(code, language),
    };
    for (const behaviour of behaviours[depth]) behaviour(bench);
  });
}
