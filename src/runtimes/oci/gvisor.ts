import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { GeodeError, isGeodeError } from '../../base/errors.ts';
import type { WallsFreezer } from '../freezer.ts';

/** Longer than the deadline of a pause or resume. A change that follows waits until this one has ended. */
const changeDeadlineMs = 20_000;

/** A sandbox with its own kernel, through `runsc`. */
export interface GvisorSandbox {
  readonly program: string;
  /** The option for its state folder. */
  readonly root: readonly string[];
  readonly id: string;
  readonly path: string;
}

/** Runs `runsc VERB … ID LAST …` and returns what it printed. */
async function runsc(
  { program, root, id, path }: GvisorSandbox,
  verb: readonly string[],
  signal: AbortSignal,
  last: readonly string[] = [],
): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(program, [...root, ...verb, id, ...last], {
      env: { PATH: path },
      signal,
    });
    return stdout;
  } catch (error) {
    signal.throwIfAborted();
    const reason = (error as { stderr?: string }).stderr?.trim().slice(-500) || 'it gave no reason';
    if (/no space left on device|disk quota exceeded/i.test(reason))
      throw Object.assign(new Error(reason), { code: 'ENOSPC' });
    throw new GeodeError('engine_failed', `runsc ${verb[0]} failed: ${reason}.`, { cause: error });
  }
}

/** Saves the memory of a paused sandbox, uncompressed; it stays paused. Its connections to the host end. */
export async function saveGvisor(sandbox: GvisorSandbox, folder: string, signal: AbortSignal): Promise<void> {
  await runsc(
    sandbox,
    ['checkpoint', '--leave-running', '--compression', 'none', '--image-path', folder],
    signal,
  );
}

/** Ends a sandbox, paused or not, before anything in it can run again. */
export async function endGvisor(sandbox: GvisorSandbox, signal: AbortSignal): Promise<void> {
  await runsc(sandbox, ['delete', '--force'], signal);
}

async function stateOf(sandbox: GvisorSandbox, signal: AbortSignal): Promise<string> {
  const text = await runsc(sandbox, ['state'], signal).catch((error) => {
    if (isGeodeError(error, 'engine_failed')) return '';
    throw error;
  });
  return /"status":\s*"(\w+)"/.exec(text)?.[1] ?? 'stopped';
}

export async function isPausedByGvisor(sandbox: GvisorSandbox, signal: AbortSignal): Promise<boolean> {
  return (await stateOf(sandbox, signal)) === 'paused';
}

/**
 * Pauses through gVisor's own kernel. A control group's freezer would stop the threads that run the sandbox's programs
 * in the middle of a system call: on the platform systrap such a program can end with a segmentation fault.
 */
export function gvisorFreezer(sandbox: GvisorSandbox): WallsFreezer {
  let last: Promise<unknown> = Promise.resolve();
  // A cancel does not kill the program of a change that has begun: the kernel could be paused by then, and the file with
  // its state not say so. The next change waits for it, so that a cancelled pause does not land after its undo.
  const change = async (verb: 'pause' | 'resume') => {
    const running = runsc(sandbox, [verb], AbortSignal.timeout(changeDeadlineMs));
    last = running.catch(() => {});
    await running;
  };
  return {
    async pause(signal) {
      await last;
      const state = await stateOf(sandbox, signal);
      if (state === 'paused') return;
      if (state === 'stopped') throw new GeodeError('sandbox_gone', 'The sandbox has ended.');
      signal.throwIfAborted();
      await change('pause');
    },
    async resume(signal) {
      await last;
      if ((await stateOf(sandbox, signal)) !== 'paused') return;
      signal.throwIfAborted();
      await change('resume');
      // Saving memory cuts connections to the host, and gVisor notifies no reader: let the guest look.
      await runsc(sandbox, ['kill'], signal, ['USR1']);
    },
  };
}
