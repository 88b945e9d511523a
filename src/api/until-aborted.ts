import { onAbort } from '../base/cancel.ts';

/** Reads until the signal fires, also where the source itself knows no signal and waits. */
export async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  // One for each step: a promise that is raced again and again keeps all that won against it.
  let left = Promise.withResolvers<undefined>();
  using _watching = onAbort(signal, () => left.resolve(undefined));
  const iterator = source[Symbol.asyncIterator]();
  try {
    while (!signal.aborted) {
      left = Promise.withResolvers();
      const step = await Promise.race([iterator.next(), left.promise]);
      if (step === undefined || step.done) return;
      yield step.value;
    }
  } finally {
    // A source that waits hears of it with its next event; nobody has to wait for that, or for its failure.
    void iterator.return?.().catch(() => {});
  }
}
