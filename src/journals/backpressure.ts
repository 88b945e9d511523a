import { Notifier } from '../base/notifier.ts';

/** Maximum bytes that the writer may be ahead of the reader: well below the size of a journal. */
const leadBytes = 4 * 1024 ** 2;

/** Holds back a process while its reader is behind, like a pipe. */
export class Backpressure {
  readonly #changed = new Notifier();
  #readTo = 0;
  #isOver = false;

  /** Waits until the reader is near the offset or has left. */
  async writtenTo(offset: number): Promise<void> {
    while (!this.#isOver && offset - this.#readTo > leadBytes) await this.#changed.next(undefined);
  }

  readTo(offset: number): void {
    this.#readTo = offset;
    this.#changed.notify();
  }

  /** Ends the limit when the reader is gone: later writes do not wait. */
  end(): void {
    this.#isOver = true;
    this.#changed.notify();
  }
}
