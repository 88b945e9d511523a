/**
 * One embedder shared by many callers: texts that wait at the same time go together, up to a size, and
 * recent texts are remembered. Queries have a lane of their own, so that a big ingest does not delay them
 * by more than the batch under way.
 */

import type { Cancel } from '../../core/cancel.ts';
import { GeodeError } from '../../core/errors.ts';
import type { Embedder } from '../../core/memory.ts';

const REMEMBERED = 4_096;

type Purpose = 'query' | 'entry';

interface Waiting {
  readonly text: string;
  readonly signal: AbortSignal | undefined;
  resolve(vector: Float32Array): void;
  reject(reason: unknown): void;
}

export class EmbedQueue {
  readonly embedder: Embedder;
  readonly #waiting: Record<Purpose, Waiting[]> = { query: [], entry: [] };
  readonly #busy: Record<Purpose, boolean> = { query: false, entry: false };
  readonly #known = new Map<string, Float32Array>();

  constructor(embedder: Embedder) {
    this.embedder = embedder;
  }

  embed(texts: readonly string[], purpose: Purpose, { signal }: Cancel = {}): Promise<Float32Array[]> {
    const vectors = texts.map((text) => {
      const known = this.#known.get(`${purpose}:${text}`);
      if (known !== undefined) return known;
      return new Promise<Float32Array>((resolve, reject) => {
        this.#waiting[purpose].push({ text, signal, resolve, reject });
      });
    });
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
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      if (batch.length > 0 && length + next.text.length > this.embedder.batchLength) break;
      waiting.shift();
      if (next.signal?.aborted)
        next.reject(new GeodeError('cancelled', 'The caller gave up before the text was embedded.'));
      else {
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
        `${model} gave ${vector?.length ?? 0} numbers instead of ${dimensions}.`,
      );
    }
    this.#known.set(`${purpose}:${text}`, vector);
    const oldest = this.#known.keys().next().value;
    if (this.#known.size > REMEMBERED && oldest !== undefined) this.#known.delete(oldest);
    return vector;
  }
}
