import { join } from 'node:path';
import type { Egress } from '../core/egress.ts';
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
  /** It is closed with the host. */
  readonly egress: Egress & Disposable;
}

/**
 * Becomes the host of the sandboxes in a folder: takes the lock, reads the ledger, makes it agree with
 * reality and adopts everything that runs. On failure nothing is held.
 */
export async function openSandboxes(options: SandboxesOptions): Promise<Sandboxes> {
  const { stateDir, most, policy, sweepEveryMs, runtimes, warn, egress, signal } = options;
  await using held = new AsyncDisposableStack();
  held.use(await lockHost(stateDir, options));
  const book = new Book(held.use(new Ledger(join(stateDir, 'ledger.db'), [sandboxChapter])));
  held.use(egress);
  // Its tables are there before anything depends on them.
  egress.remembered('');
  const supply = held.use(new Supply(options));
  const registry = held.use(new Registry({ book, supply, limits: most, egress }));
  const closing = new AbortController();
  const sides = { registry, runtimes, warn };
  const { reaping } = await reconcile(sides, closing.signal, { signal });

  const tend = async () => {
    await reconcileUnsettled(sides, { signal: closing.signal });
    await sweep(registry, policy, { signal: closing.signal });
  };
  let tending: Promise<unknown> | undefined;
  held.defer(async () => {
    closing.abort();
    await tending;
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
