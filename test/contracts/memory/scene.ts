import type { Memory, MemoryStore, NewEntry } from '../../../src/seams/memory.ts';
import { type WordEmbedder, wordEmbedder } from '../../memory/word-embedder.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

export interface OpenForTest {
  readonly file: string;
  readonly embedder: WordEmbedder;
  readonly secrets: () => Iterable<string>;
  readonly now: () => number;
  readonly pendingText?: number;
}

/** The parts of a test: its own memory, and a clock that only the test moves. */
export interface MemoryScene extends AsyncDisposable {
  readonly store: MemoryStore;
  readonly memory: Memory;
  readonly embedder: WordEmbedder;
  readonly clock: { now: number };
  /** The values that must never be stored; a test may add one. */
  readonly secrets: string[];
  /** Closes the store and opens its file again. */
  reopen(embedder?: WordEmbedder, more?: Pick<OpenForTest, 'pendingText'>): MemoryScene;
  keysOf(text: string, more?: object): Promise<readonly string[]>;
}

export function memoryScene(open: (options: OpenForTest) => MemoryStore): MemoryScene {
  const folder = temporaryFolder();
  const clock = { now: Date.UTC(2030, 0, 1) };
  const secrets = ['hunter2-hunter2'];
  const opened = (embedder: WordEmbedder, more: Pick<OpenForTest, 'pendingText'> = {}): MemoryScene => {
    const store = open({
      file: `${folder.path}/memory.db`,
      embedder,
      secrets: () => secrets,
      now: () => clock.now,
      ...more,
    });
    const memory = store.in('alice');
    return {
      store,
      memory,
      embedder,
      clock,
      secrets,
      reopen: (other = embedder, changed = {}) => opened(other, changed),
      keysOf: async (text, more = {}) =>
        (await memory.recall({ text, ...more })).results.map(({ entry: found }) => found.key),
      async [Symbol.asyncDispose]() {
        await store.stop();
        folder[Symbol.dispose]();
      },
    };
  };
  return opened(wordEmbedder());
}

export const entry = (content: string, more: Partial<NewEntry> = {}): NewEntry => ({
  content,
  category: 'project',
  source: 'test',
  ...more,
});
