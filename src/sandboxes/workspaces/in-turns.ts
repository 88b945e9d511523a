export interface Turns {
  /** Does the work when all that was asked for before is over. */
  <T>(work: () => Promise<T>): Promise<T>;
  /** Waits for the turn and keeps it until the result is disposed of. */
  hold(): Promise<Disposable>;
}

/** One after the other, in the order in which they were asked for; a failure does not hold up the next. */
export function inTurns(): Turns {
  let last: Promise<void> = Promise.resolve();
  const hold = async (): Promise<Disposable> => {
    const before = last;
    const { promise, resolve } = Promise.withResolvers<void>();
    last = promise;
    await before;
    return { [Symbol.dispose]: resolve };
  };
  const turn = async <T>(work: () => Promise<T>): Promise<T> => {
    using _held = await hold();
    return await work();
  };
  return Object.assign(turn, { hold });
}
