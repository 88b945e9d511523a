import { Bell } from './bell.ts';

/** So far who writes may be ahead of who reads: well within what a journal keeps. */
const leadBytes = 4 * 1024 ** 2;

/** Keeps a process in step with the one who reads it, as a pipe would. */
export class Pace {
  readonly #bell = new Bell();
  #readTo = 0;
  #isOver = false;

  /** Waits until the reader is near the offset, or has gone. */
  async writtenTo(offset: number): Promise<void> {
    while (!this.#isOver && offset - this.#readTo > leadBytes) await this.#bell.next(undefined);
  }

  readTo(offset: number): void {
    this.#readTo = offset;
    this.#bell.ring();
  }

  /** Nobody reads any more: what is written from now on waits for nobody. */
  end(): void {
    this.#isOver = true;
    this.#bell.ring();
  }
}
