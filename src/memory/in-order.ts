/** Lets work on the same key happen in the order in which it was asked for, and other work at once. */
export class InOrder {
  readonly #last = new Map<string, Promise<unknown>>();

  run<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    const before = Promise.all(keys.map((key) => this.#last.get(key)));
    const result = before.then(work);
    const settled = result.catch(() => undefined);
    for (const key of keys) this.#last.set(key, settled);
    void settled.then(() => {
      for (const key of keys) if (this.#last.get(key) === settled) this.#last.delete(key);
    });
    return result;
  }
}
