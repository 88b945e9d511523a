/**
 * One embedder shared by many callers. Texts that wait at the same time are sent together, up to a size, and recent
 * texts are cached. Queries have their own lane, so a large import delays them by at most the batch in progress. In
 * each lane the owners of the texts take turns, text by text, so one user's long text does not delay another user's
 * short one.
 */

import type { Cancel } from '../../base/cancel.ts';
import { GeodeError } from '../../base/errors.ts';
import type { Embedder } from '../../seams/memory.ts';

const REMEMBERED = 4_096;

type Purpose = 'query' | 'entry';

export interface EmbedOptions extends Cancel {
  /** Owner of the texts; owners take turns. */
  readonly owner?: string;
}

interface Waiting {
  readonly text: string;
  readonly signal: AbortSignal | undefined;
  resolve(vector: Float32Array): void;
  reject(reason: unknown): void;
}

export class EmbedQueue {
  readonly embedder: Embedder;
  /** By owner; the first in the map has the next turn. */
  readonly #waiting: Record<Purpose, Map<string, Waiting[]>> = { query: new Map(), entry: new Map() };
  readonly #busy: Record<Purpose, boolean> = { query: false, entry: false };
  readonly #known = new Map<string, Float32Array>();

  constructor(embedder: Embedder) {
    this.embedder = embedder;
  }

  embed(
    texts: readonly string[],
    purpose: Purpose,
    { owner = '', signal }: EmbedOptions = {},
  ): Promise<Float32Array[]> {
    const own = this.#waiting[purpose].get(owner) ?? [];
    const vectors = texts.map((text) => {
      const known = this.#known.get(`${purpose}:${text}`);
      if (known !== undefined) return known;
      return new Promise<Float32Array>((resolve, reject) => {
        own.push({ text, signal, resolve, reject });
      });
    });
    if (own.length > 0) this.#waiting[purpose].set(owner, own);
    void this.#drain(purpose);
    return Promise.all(vectors);
  }

  async #drain(purpose: Purpose): Promise<void> {
    if (this.#busy[purpose]) return;
    this.#busy[purpose] = true;
    for (let batch = this.#nextBatch(purpose); batch.length > 0; batch = this.#nextBatch(purpose)) {
      try {
        const vectors = await this.embedder.embed(
          batch.map(({ text }) => text),
          purpose,
        );
        for (const [i, { text, resolve }] of batch.entries())
          resolve(this.#checked(text, purpose, vectors[i]));
      } catch (thrown) {
        for (const { reject } of batch) reject(thrown);
      }
    }
    this.#busy[purpose] = false;
  }

  #nextBatch(purpose: Purpose): Waiting[] {
    const waiting = this.#waiting[purpose];
    const batch: Waiting[] = [];
    let length = 0;
    for (const [owner, own] of waiting) {
      const [next] = own;
      if (next !== undefined && batch.length > 0 && length + next.text.length > this.embedder.batchLength)
        break;
      own.shift();
      // The owner's next text goes to the end; a loop over a map also visits entries added during the loop.
      waiting.delete(owner);
      if (own.length > 0) waiting.set(owner, own);
      if (next?.signal?.aborted)
        next.reject(new GeodeError('cancelled', 'The caller cancelled before the text was embedded.'));
      else if (next !== undefined) {
        batch.push(next);
        length += next.text.length;
      }
    }
    return batch;
  }

  #checked(text: string, purpose: Purpose, vector: Float32Array | undefined): Float32Array {
    const { model, dimensions } = this.embedder;
    if (vector?.length !== dimensions) {
      throw new GeodeError(
        'embedder_failed',
        `${model} returned ${vector?.length ?? 0} numbers instead of ${dimensions}.`,
      );
    }
    this.#known.set(`${purpose}:${text}`, vector);
    const oldest = this.#known.keys().next().value;
    if (this.#known.size > REMEMBERED && oldest !== undefined) this.#known.delete(oldest);
    return vector;
  }
}
