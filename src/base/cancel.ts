import { GeodeError } from './errors.ts';

const settleDeadlineMs = 10_000;

/** Cancellation: every call that waits takes a `signal` as its last option and checks it first. */
export interface Cancel {
  readonly signal?: AbortSignal | undefined;
}

export function throwIfCancelled(signal: AbortSignal | undefined, what: string): void {
  if (signal?.aborted) throw cancelled(what, signal.reason);
}

export function cancelled(what: string, cause?: unknown): GeodeError {
  return new GeodeError('cancelled', `${what} was cancelled.`, { cause });
}

/**
 * Calls `stop` once when the signal fires, or at once if it already has. Disposing of the result removes the
 * listener.
 */
export function onAbort(signal: AbortSignal | undefined, stop: () => void): Disposable {
  if (signal?.aborted) stop();
  else signal?.addEventListener('abort', stop, { once: true });
  return { [Symbol.dispose]: () => signal?.removeEventListener('abort', stop) };
}

/** The value of the work, or `stopped` if the signal fires first. The work is not awaited then. */
export async function unlessStopped<T>(
  work: () => Promise<T>,
  signal: AbortSignal,
): Promise<{ readonly value: T } | 'stopped'> {
  if (signal.aborted) return 'stopped';
  const stopped = Promise.withResolvers<'stopped'>();
  using _watching = onAbort(signal, () => stopped.resolve('stopped'));
  const working = work().then((value) => ({ value }));
  working.catch(() => {});
  return await Promise.race([working, stopped.promise]);
}

export interface Deadline extends Cancel {
  readonly ms: number;
  /** Name of the awaited thing: "The guest", "Pulling alpine:3.22". */
  readonly what: string;
  /** The next step for a person after a timeout. */
  readonly hint?: string;
}

/**
 * Waits for `work`, at most until the deadline or a cancel. The work gets a signal that fires in both cases, so it
 * can really stop. Its later failure is ignored.
 */
export async function within<T>(deadline: Deadline, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  throwIfCancelled(deadline.signal, deadline.what);
  const stop = new AbortController();
  let fail: (error: GeodeError) => void = () => {};
  const late = new Promise<never>((_, reject) => {
    fail = reject;
  });
  late.catch(() => {});
  const give = (error: GeodeError) => {
    fail(error);
    stop.abort(error);
  };
  const onCancel = () => give(cancelled(deadline.what, deadline.signal?.reason));
  const timer = setTimeout(() => {
    const options = deadline.hint === undefined ? {} : { hint: deadline.hint };
    give(new GeodeError('timed_out', `${deadline.what} did not finish within ${deadline.ms} ms.`, options));
  }, deadline.ms);
  using _watching = onAbort(deadline.signal, onCancel);
  try {
    const working = work(stop.signal);
    working.catch(() => {});
    return await Promise.race([working, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Like `within`, but waits a little longer for abandoned work: what it creates must exist before it can be removed. */
export async function finishing<T>(
  deadline: Deadline,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  let working: Promise<unknown> = Promise.resolve();
  try {
    return await within(deadline, (signal) => {
      const result = work(signal);
      working = result.catch(() => {});
      return result;
    });
  } catch (error) {
    const settled = new Promise((resolve) => setTimeout(resolve, settleDeadlineMs).unref());
    await Promise.race([working, settled]);
    throw error;
  }
}
