import { setTimeout as delay } from 'node:timers/promises';
import { isGeodeError, reasonOf } from '../../core/errors.ts';
import type { CliContext } from '../command.ts';
import { openHost } from './open-host.ts';

const retryMs = 1_000;

export interface HostBesideOptions {
  readonly as: string;
  readonly warn: (message: string) => void;
}

/** A process that lasts is the host of the sandboxes beside its own work, from when no other is. It never waits for that. */
export function hostBeside(
  context: Pick<CliContext, 'loaded' | 'host' | 'commands'>,
  options: HostBesideOptions,
): AsyncDisposable {
  const stop = new AbortController();
  const hosting = hostUntil(stop.signal, context, options);
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await hosting;
    },
  };
}

async function hostUntil(
  signal: AbortSignal,
  context: Pick<CliContext, 'loaded' | 'host' | 'commands'>,
  { as, warn }: HostBesideOptions,
): Promise<void> {
  const isOn = () => !signal.aborted;
  let told = '';
  while (isOn()) {
    try {
      await using host = await openHost(context, { as, tends: 'all', lingerMs: null, signal, warn });
      told = '';
      await host.over(signal);
    } catch (error) {
      // Each reason once: it is tried again until it works.
      const reason = reasonOf(error);
      if (isOn() && reason !== told) warn(isGeodeError(error, 'ledger_held') ? waits(reason) : fails(reason));
      told = reason;
      await delay(retryMs, undefined, { signal }).catch(() => {});
    }
  }
}

function waits(reason: string): string {
  return `${reason} This process becomes their host when that one ends.`;
}

function fails(reason: string): string {
  return `The sandboxes cannot be hosted: ${reason}`;
}
