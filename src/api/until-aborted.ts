import { onAbort } from '../base/cancel.ts';

/** Reads until the signal fires, even if the source ignores signals and waits. */
export async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  // One promise for each step: a promise that is raced repeatedly keeps every winner in memory.
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
    // A waiting source notices with its next event; nobody waits for that or for its failure.
    void iterator.return?.().catch(() => {});
  }
}
