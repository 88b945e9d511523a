import type { Cancel } from '../base/cancel.ts';
import { onAbort, within } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import type { ProcessEvent } from '../seams/process.ts';
import type { ProcessStream } from './process-stream.ts';

/** Extra time, beyond the command's timeout, for a busy guest to report the end. */
const graceMs = 15_000;
const killDeadlineMs = 10_000;

/**
 * Reads a process to its exit. A cancel kills the whole tree and waits for the exit. Neither a cancel nor a timeout
 * waits forever for a silent guest: then reading stops without a result.
 */
export async function followToEnd(
  process: ProcessStream,
  onEvent: (event: ProcessEvent) => void,
  { timeoutMs, signal }: { readonly timeoutMs: number | undefined } & Cancel,
): Promise<void> {
  const drop = () => process.drop();
  let timer: NodeJS.Timeout | undefined;
  const dropAfter = (ms: number, pausedMs = process.pausedMs) => {
    timer = setTimeout(() => {
      const paused = process.pausedMs - pausedMs;
      if (paused > 0) dropAfter(paused);
      else drop();
    }, ms);
  };
  if (timeoutMs !== undefined) dropAfter(timeoutMs + graceMs);
  let lastWait: NodeJS.Timeout | undefined;
  const onCancel = () => {
    within({ ms: killDeadlineMs, what: 'Killing the command' }, () => process.kill()).catch(() => {});
    lastWait = setTimeout(drop, killDeadlineMs);
  };
  using _watching = onAbort(signal, onCancel);
  try {
    for await (const event of process) onEvent(event);
  } finally {
    clearTimeout(timer);
    clearTimeout(lastWait);
  }
}

export function silent(processId: string): GeodeError {
  return new GeodeError('timed_out', `The guest did not report how process ${processId} ended.`, {
    hint: 'The sandbox may be overloaded or hostile. List its processes with processes(), or stop it.',
  });
}
