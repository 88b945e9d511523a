import { setTimeout as delay } from 'node:timers/promises';
import { isGeodeError } from '../../core/errors.ts';
import { askToLeave } from '../../host/host-client.ts';
import { currentHost } from '../../ledger/host-lock.ts';
import type { CliContext } from '../command.ts';
import { type CommandHost, type CommandHostOptions, openCommandHost } from './command-host.ts';

const askEveryMs = 250;

/**
 * Becomes the host in the place of one that a command started in the background: that one leaves as soon as no
 * command runs in it. Any other host is not asked: `ledger_held`.
 */
export async function openInPlaceOf(
  context: CliContext,
  options: CommandHostOptions,
  tellOfWait: (pid: number) => void,
): Promise<CommandHost> {
  const stateDir = (await context.loaded()).config.sandbox.state_dir;
  let told = false;
  for (;;) {
    try {
      return await openCommandHost(context, options);
    } catch (error) {
      if (!isGeodeError(error, 'ledger_held') || options.takeOver) throw error;
      const other = currentHost(stateDir);
      if (other !== undefined && other.serves?.as !== 'geode host') throw error;
      const leaves = other?.serves?.api === undefined || (await askToLeave(other.serves.api));
      if (!leaves && !told && other !== undefined) {
        tellOfWait(other.pid);
        told = true;
      }
      await delay(askEveryMs, undefined, { signal: context.signal });
    }
  }
}
