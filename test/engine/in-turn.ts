/** Makes a function whose calls wait for each other: each starts when the one before has ended, well or not. */
export function inTurn<Args extends readonly unknown[], Result>(
  work: (...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (...args) => {
    const turn = last.then(() => work(...args));
    last = turn.catch(() => undefined);
    return turn;
  };
}
