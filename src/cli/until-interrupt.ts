import { isGeodeError } from '../base/errors.ts';
import { exitCodes, interruptedCode } from './command.ts';

/** For work that goes on until someone has seen enough: an interrupt is its end, and no failure to tell of. */
export async function untilInterrupt(signal: AbortSignal, work: () => Promise<void>): Promise<number> {
  try {
    await work();
  } catch (error) {
    if (!isGeodeError(error, 'cancelled')) throw error;
  }
  return signal.aborted ? interruptedCode(signal.reason) : exitCodes.done;
}
