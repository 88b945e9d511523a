import { setTimeout as delay } from 'node:timers/promises';
import { within } from '../core/cancel.ts';
import { isGeodeError } from '../core/errors.ts';
import type { PersistentSandbox, SandboxStatus } from '../core/persistent.ts';
import type { ChatName } from './chat-name.ts';
import type { CliContext } from './command.ts';
import { becomeHost } from './hosting.ts';

const pauseMs = 10;
const longestMs = 5_000;

/**
 * Output that no host has heard yet waits in the sandbox. So whoever reads the journals becomes the host
 * meanwhile, if no other is: what waits is written down first, and what comes is from then on. If another is
 * the host it does so already. A guest that does not answer is not waited for.
 */
export async function hearOut(
  { user, chat }: ChatName,
  { state }: SandboxStatus,
  context: CliContext,
): Promise<AsyncDisposable> {
  if (state !== 'running') return { [Symbol.asyncDispose]: async () => {} };
  try {
    const host = await becomeHost(context, 0);
    const hearing = { ms: longestMs, what: 'Hearing what the sandbox has to say', signal: context.signal };
    await within(hearing, async (signal) =>
      allHeard(await host.sandboxes.of(user).start(chat, { signal }), signal),
    ).catch(async (error) => {
      if (isGeodeError(error) && error.code !== 'cancelled') return;
      await host[Symbol.asyncDispose]();
      throw error;
    });
    return host;
  } catch (error) {
    // Held by another, or not to be reached: what is on record can be read all the same.
    if (!isGeodeError(error) || error.code === 'cancelled') throw error;
    return { [Symbol.asyncDispose]: async () => {} };
  }
}

/** Until everything that was written when it was asked is on record. */
async function allHeard(sandbox: PersistentSandbox, signal: AbortSignal): Promise<void> {
  const { processes } = await sandbox.processes({ signal });
  for (const { id, offset } of processes) {
    const journal = sandbox.journals.open(id);
    while (journal.length < offset && !signal.aborted)
      await delay(pauseMs, undefined, { signal }).catch(() => {});
  }
}
