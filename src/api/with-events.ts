/** Yields the events of some work as they happen, then its result. Throws a failure after the last event. */
export async function* withEvents<Event, Result>(
  start: (emit: (event: Event) => void) => Promise<Result>,
): AsyncGenerator<Event, Result> {
  const waiting: Event[] = [];
  let wake = () => {};
  let isOver = false;
  const working = start((event) => {
    waiting.push(event);
    wake();
  }).finally(() => {
    isOver = true;
    wake();
  });
  working.catch(() => {});
  while (!isOver || waiting.length > 0) {
    const next = waiting.shift();
    if (next !== undefined) yield next;
    else
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (isOver || waiting.length > 0) resolve();
      });
  }
  return await working;
}
