import { setTimeout as delay } from 'node:timers/promises';
import { type Cancel, within } from '../base/cancel.ts';
import { isGeodeError } from '../base/errors.ts';
import type { UserSandboxes } from '../seams/persistent.ts';

const pauseMs = 10;
const longestMs = 5_000;

/**
 * Output that no host has received yet waits in the sandbox. A reader of the journals first waits until everything
 * written so far is recorded, but not for a guest that does not answer.
 */
export async function drainOutput(sandboxes: UserSandboxes, chat: string, { signal }: Cancel): Promise<void> {
  const deadline = { ms: longestMs, what: 'Waiting for the output of the sandbox', signal };
  try {
    await within(deadline, async (stop) => {
      const sandbox = await sandboxes.start(chat, { signal: stop });
      const { processes } = await sandbox.processes({ signal: stop });
      for (const { id, offset } of processes) {
        const journal = sandbox.journals.open(id);
        while (journal.length < offset && !stop.aborted)
          await delay(pauseMs, undefined, { signal: stop }).catch(() => {});
      }
    });
  } catch (error) {
    // Recorded output can still be read.
    if (!isGeodeError(error) || error.code === 'cancelled') throw error;
  }
}
