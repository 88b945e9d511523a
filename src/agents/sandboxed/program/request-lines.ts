import type { Readable } from 'node:stream';
import { GeodeError } from '../../../base/errors.ts';

/** The lines of stdin in order, with a maximum length. */
export class RequestLines {
  readonly #chunks: AsyncIterator<Uint8Array | string>;
  readonly #mostBytes: number;
  #rest: Buffer = Buffer.alloc(0);

  constructor(stream: Readable, mostBytes: number) {
    this.#chunks = stream[Symbol.asyncIterator]();
    this.#mostBytes = mostBytes;
  }

  /** Undefined at the end. The last line needs no line break. */
  async next(): Promise<string | undefined> {
    const pieces = [this.#rest];
    let size = this.#rest.length;
    for (let chunk = this.#rest; ; ) {
      const end = chunk.indexOf(10);
      if (end >= 0) {
        this.#rest = chunk.subarray(end + 1);
        pieces[pieces.length - 1] = chunk.subarray(0, end);
        return Buffer.concat(pieces).toString();
      }
      if (size > this.#mostBytes)
        throw new GeodeError('too_large', `A line of stdin is longer than ${this.#mostBytes} bytes.`);
      const step = await this.#chunks.next();
      if (step.done) {
        this.#rest = Buffer.alloc(0);
        return size === 0 ? undefined : Buffer.concat(pieces).toString();
      }
      chunk = Buffer.from(step.value);
      size += chunk.length;
      pieces.push(chunk);
    }
  }
}
