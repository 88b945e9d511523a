/**
 * The index without external parts: both halves run in this process, in their own thread. It reads the truth before
 * each search, so it is always up to date, even if another process wrote.
 */
import { reasonOf } from '../../../base/errors.ts';
import type { PartHealth } from '../../../seams/memory.ts';
import { WorkerCalls } from '../../worker-calls.ts';
import type { DenseSearch, Hits, KeywordSearch, SearchIndex } from '../search-index.ts';
import { unpackHits } from './packed-hits.ts';
import type { IndexCalls, IndexWorkerInput } from './worker.ts';

export class EmbeddedIndex implements SearchIndex {
  readonly name = 'sqlite';
  readonly #worker: WorkerCalls<IndexCalls>;

  constructor(file: string) {
    this.#worker = new WorkerCalls(new URL('./worker.ts', import.meta.url), {
      file,
    } satisfies IndexWorkerInput);
  }

  async dense(search: DenseSearch): Promise<Hits> {
    return unpackHits(await this.#worker.call('dense', search));
  }

  async keyword(search: KeywordSearch): Promise<Hits> {
    return unpackHits(await this.#worker.call('keyword', search));
  }

  catchUp(): Promise<void> {
    return Promise.resolve();
  }

  behind(): number {
    return 0;
  }

  async health(): Promise<PartHealth> {
    try {
      const { namespaces, entries, bytes } = await this.#worker.call('usage', null);
      const megabytes = (bytes / 1e6).toFixed(1);
      return {
        name: 'index',
        state: 'up',
        detail: `embedded: ${entries} entries of ${namespaces} namespaces in ${megabytes} MB`,
      };
    } catch (thrown) {
      return { name: 'index', state: 'down', detail: reasonOf(thrown) };
    }
  }

  stop(): Promise<void> {
    return this.#worker.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
