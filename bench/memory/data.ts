/** The sets that the bench needs, which are not part of the project. */
import { join } from 'node:path';
import { loadDialogues } from './dialogues.ts';
import { loadHumanEval } from './humaneval.ts';
import type { RetrievalSet } from './retrieval.ts';
import { loadSciFact, type SciFact } from './scifact.ts';

export interface BenchData {
  readonly scifact: SciFact;
  readonly humanEval: RetrievalSet;
  /** Null when they are not there: their licence lets nobody pass them on. */
  readonly dialogues: readonly RetrievalSet[] | null;
}

/** The folder comes from the command line or from GEODE_BENCH_DATA. */
export function loadData(folder: string | undefined): BenchData {
  if (folder === undefined) {
    throw new Error(
      'Give a folder that holds scifact/ and humaneval/ as the last argument or in GEODE_BENCH_DATA.',
    );
  }
  return {
    scifact: loadSciFact(join(folder, 'scifact')),
    humanEval: loadHumanEval(join(folder, 'humaneval')),
    dialogues: loadDialogues(join(folder, 'dialogues')),
  };
}
