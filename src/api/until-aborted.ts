/** Reads until the signal fires, also where the source itself knows no signal and waits. */
export async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const left = Promise.withResolvers<undefined>();
  const leave = () => left.resolve(undefined);
  signal.addEventListener('abort', leave, { once: true });
  if (signal.aborted) leave();
  const iterator = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const step = await Promise.race([iterator.next(), left.promise]);
      if (step === undefined || step.done) return;
      yield step.value;
    }
  } finally {
    signal.removeEventListener('abort', leave);
    // A source that waits hears of it with its next event; nobody has to wait for that, or for its failure.
    void iterator.return?.().catch(() => {});
  }
}
