import { unlessStopped } from '../../base/cancel.ts';
import type { LineEvent } from './journal-lines.ts';

/** The next line of a program, or `stopped` if nobody waits for it any more. */
export async function nextLine(
  lines: AsyncGenerator<LineEvent>,
  signal: AbortSignal,
): Promise<IteratorResult<LineEvent> | 'stopped'> {
  const next = await unlessStopped(() => lines.next(), signal);
  return next === 'stopped' ? next : next.value;
}
