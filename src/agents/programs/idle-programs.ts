/** Ends programs that no turn uses. A host that ends leaves them to the next one. */
export class IdlePrograms implements Disposable {
  readonly #timers = new Map<number, NodeJS.Timeout>();
  readonly #ms: number;

  constructor(ms: number) {
    this.#ms = ms;
  }

  start(conversation: number, end: () => Promise<void>): void {
    this.cancel(conversation);
    const timer = setTimeout(() => {
      this.#timers.delete(conversation);
      end().catch(() => {}); // The program or its sandbox has ended.
    }, this.#ms);
    this.#timers.set(conversation, timer.unref());
  }

  cancel(conversation: number): void {
    clearTimeout(this.#timers.get(conversation));
    this.#timers.delete(conversation);
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }
}
