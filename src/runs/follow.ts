import { type Cancel, cancelled } from '../base/cancel.ts';
import { isGeodeError } from '../base/errors.ts';
import type { Command, ProcessEvent } from '../seams/process.ts';
import type { Sandbox } from '../seams/sandbox.ts';

/** How much later than its timeout a guest may say that it has killed the command, before the walls come down. */
const graceMs = 5_000;
/** The workspace is on the host's disk: no single file may be larger. */
export const rlimits = { fsize: 1024 ** 3 } as const;

/**
 * A command's events to its exit. A cancel ends the sandbox, since nobody else uses it. A timeout holds even
 * when the guest does not: the sandbox is ended from outside, and the exit says what that did.
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
