import { type Cancel, cancelled } from '../base/cancel.ts';
import { isGeodeError } from '../base/errors.ts';
import type { Command, ProcessEvent } from '../seams/process.ts';
import type { Sandbox } from '../seams/sandbox.ts';

/** How long after its timeout a guest may report that it killed the command, before the sandbox is ended. */
const graceMs = 5_000;
/** The workspace is on the host's disk: limits the size of a single file. */
export const rlimits = { fsize: 1024 ** 3 } as const;

/**
 * A command's events to its exit. A cancel ends the sandbox, because nobody else uses it. A timeout works even if the
 * guest does not respond: the sandbox is ended from outside, and the exit reports the result.
 */
export async function* follow(
  sandbox: Sandbox,
  command: Command,
  { signal }: Cancel,
): AsyncGenerator<ProcessEvent> {
  const started = performance.now();
  let overdue = false;
  const end = () => void sandbox.stop().catch(() => {});
  const timer = command.timeoutMs == null ? undefined : setTimeout(expire, command.timeoutMs + graceMs);
  function expire() {
    overdue = true;
    end();
  }
  signal?.addEventListener('abort', end, { once: true });
  try {
    yield* await sandbox.spawn({ ...command, rlimits }, { signal });
  } catch (error) {
    if (signal?.aborted) throw cancelled('The run', signal.reason);
    if (!overdue || !isGeodeError(error, 'sandbox_gone')) throw error;
    const durationMs = performance.now() - started;
    yield { type: 'exit', exitCode: null, signal: 'SIGKILL', timedOut: true, oomKilled: false, durationMs };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', end);
  }
}
