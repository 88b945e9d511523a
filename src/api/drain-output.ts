import { setTimeout as delay } from 'node:timers/promises';
import { type Cancel, within } from '../base/cancel.ts';
import { isGeodeError } from '../base/errors.ts';
import type { UserSandboxes } from '../seams/persistent.ts';

const pauseMs = 10;
const longestMs = 5_000;

/**
 * Output that no host has heard yet waits in the sandbox: whoever reads the journals first waits until all that was
 * written when they asked is on record. A guest that does not answer is not waited for.
 */
export async function drainOutput(sandboxes: UserSandboxes, chat: string, { signal }: Cancel): Promise<void> {
  const deadline = { ms: longestMs, what: 'Hearing what the sandbox has to say', signal };
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
    // What is on record can be read all the same.
    if (!isGeodeError(error) || error.code === 'cancelled') throw error;
  }
}
