import { join } from 'node:path';
import { reasonOf } from '../core/errors.ts';
import type { Sandboxes } from '../core/persistent.ts';
import { type HostLockOptions, lockHost } from '../ledger/host-lock.ts';
import { Ledger } from '../ledger/ledger.ts';
import type { AdmissionLimits } from './admission.ts';
import { Book, sandboxChapter } from './book.ts';
import type { SweepPolicy } from './idle.ts';
import { reconcile, reconcileUnsettled } from './reconcile.ts';
import { Registry } from './registry.ts';
import { Supply, type SupplyOptions } from './supply.ts';
import { sweep } from './sweep.ts';
import { userSandboxes } from './user-sandboxes.ts';

export interface SandboxesOptions extends SupplyOptions, HostLockOptions {
  /** Where the ledger is. */
  readonly stateDir: string;
  readonly most: AdmissionLimits;
  readonly policy: SweepPolicy;
  /** Between two sweeps; `null`: only when asked. */
  readonly sweepEveryMs: number | null;
  readonly warn: (message: string) => void;
}

/**
 * Becomes the host of the sandboxes in a folder: takes the lock, reads the ledger, makes it agree with
 * what is written down; what runs is adopted in the background. On failure nothing is held.
 */
export async function openSandboxes(options: SandboxesOptions): Promise<Sandboxes> {
  const { stateDir, most, policy, sweepEveryMs, runtimes, warn, signal } = options;
  await using held = new AsyncDisposableStack();
  held.use(await lockHost(stateDir, options));
  const book = new Book(held.use(new Ledger(join(stateDir, 'ledger.db'), [sandboxChapter])));
  const supply = held.use(new Supply(options));
  const registry = held.use(new Registry({ book, supply, limits: most }));
  const closing = new AbortController();
  const sides = { registry, runtimes, warn };
  const { settled, reaping } = await reconcile(sides, closing.signal, { signal });

  const tend = async () => {
    await reconcileUnsettled(sides, { signal: closing.signal });
    await sweep(registry, policy, { signal: closing.signal });
  };
  let tending: Promise<unknown> | undefined;
  held.defer(async () => {
    closing.abort();
    await tending;
    await settled;
    await reaping;
  });
  if (sweepEveryMs !== null) {
    const timer = setInterval(() => {
      tending ??= tend()
        .catch((error) => closing.signal.aborted || warn(`The sweep failed: ${reasonOf(error)}`))
        .finally(() => {
          tending = undefined;
        });
    }, sweepEveryMs).unref();
    held.defer(() => clearInterval(timer));
  }
  const opened = held.move();
  return {
    of: (user) => userSandboxes(registry, user),
    all: (cancel) => registry.list(undefined, cancel),
    warm: (count, spec = {}, cancel = {}) => supply.warm(spec, count, cancel),
    sweep: (cancel) => sweep(registry, policy, cancel),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
