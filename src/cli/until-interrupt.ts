import { isGeodeError } from '../base/errors.ts';
import { exitCodes, interruptedCode } from './command.ts';

/** Runs work until an interrupt, which is its normal end and not a failure. */
export async function untilInterrupt(signal: AbortSignal, work: () => Promise<void>): Promise<number> {
  try {
    await work();
  } catch (error) {
    if (!isGeodeError(error, 'cancelled')) throw error;
  }
  return signal.aborted ? interruptedCode(signal.reason) : exitCodes.done;
}
