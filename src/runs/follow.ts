import { type Cancel, cancelled, onAbort } from '../base/cancel.ts';
import { GeodeError, isGeodeError } from '../base/errors.ts';
import type { Command, ExitFacts, ProcessEvent } from '../seams/process.ts';
import type { RunEvent } from '../seams/run.ts';
import type { Sandbox } from '../seams/sandbox.ts';

/** How long after its timeout a guest may report that it killed the command, before the sandbox is ended. */
const graceMs = 5_000;
/** The workspace is on the host's disk: limits the size of a single file. */
export const rlimits = { fsize: 1024 ** 3 } as const;

export type CommandOutput = Extract<ProcessEvent, { readonly bytes: Uint8Array }>;

/**
 * Runs a command and yields its output as events of the run. Returns its exit. A cancel ends the sandbox, because
 * nobody else uses it. A timeout works even if the guest does not respond: the sandbox is ended from outside, and the
 * exit reports the result.
 */
export async function* follow(
  sandbox: Sandbox,
  command: Command,
  shown: (output: CommandOutput) => RunEvent,
  { signal }: Cancel,
): AsyncGenerator<RunEvent, ExitFacts> {
  const started = performance.now();
  let overdue = false;
  const end = () => void sandbox.stop().catch(() => {});
  using _ending = onAbort(signal, end);
  const timer = command.timeoutMs == null ? undefined : setTimeout(expire, command.timeoutMs + graceMs);
  function expire() {
    overdue = true;
    end();
  }
  try {
    for await (const event of await sandbox.spawn({ ...command, rlimits }, { signal })) {
      if (event.type === 'exit') return event;
      if (event.type !== 'output-lost') yield shown(event);
    }
    throw new GeodeError('internal', 'The run ended without an exit record.');
  } catch (error) {
    if (signal?.aborted) throw cancelled('The run', signal.reason);
    if (!overdue || !isGeodeError(error, 'sandbox_gone')) throw error;
    const durationMs = performance.now() - started;
    return { exitCode: null, signal: 'SIGKILL', timedOut: true, oomKilled: false, durationMs };
  } finally {
    clearTimeout(timer);
  }
}
