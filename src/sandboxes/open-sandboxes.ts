import { join } from 'node:path';
import type { Cancel } from '../base/cancel.ts';
import { reasonOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { type JournalQuota, keepJournalQuota } from '../journals/journal-quota.ts';
import { Ledger } from '../ledger/ledger.ts';
import { type HostLockOptions, lockHost } from '../machine/host-lock.ts';
import type { Egress } from '../seams/egress.ts';
import type { EventSink } from '../seams/events.ts';
import type { Sandboxes } from '../seams/persistent.ts';
import type { SandboxTools } from '../seams/tools.ts';
import type { AdmissionLimits } from './admission.ts';
import { FormerUser } from './former-user.ts';
import type { SweepPolicy } from './idle.ts';
import { reconcile, reconcileUnsettled } from './reconcile.ts';
import { Registry } from './registry.ts';
import { SandboxSource, type SandboxSourceOptions } from './sandbox-source.ts';
import { SandboxTable, sandboxChapter } from './sandbox-table.ts';
import { sweep } from './sweep.ts';
import { userSandboxes } from './user-sandboxes.ts';

export interface SandboxesOptions extends HostedOptions, HostLockOptions {
  /** Path of the ledger. */
  readonly stateDir: string;
}

export interface HostedOptions extends SandboxSourceOptions, Cancel {
  readonly most: AdmissionLimits;
  readonly policy: SweepPolicy;
  /** Left out: finished journals are only limited per sandbox. */
  readonly journalQuota?: JournalQuota | undefined;
  /** Maximum bytes of the checkpoints of one user; left out or `null`: no limit. */
  readonly mostCheckpointBytes?: number | null;
  /** Interval of sweeps; `null`: only on request. */
  readonly sweepEveryMs: number | null;
  readonly warn: (message: string) => void;
  /** The login name that earlier versions used for the local user's sandboxes. */
  readonly formerUser?: string;
  readonly events?: EventSink;
  readonly log?: Log;
  /** Closed together with the host. */
  readonly egress: Egress & Disposable;
  /** Serves the tool sessions of sandboxes that have one. */
  readonly tools?: SandboxTools;
}

/**
 * Becomes the host of the sandboxes in a folder: takes the lock and opens the ledger. For a program that needs only
 * sandboxes. A failure leaves nothing open.
 */
export async function openSandboxes(options: SandboxesOptions): Promise<Sandboxes> {
  await using held = new AsyncDisposableStack();
  held.use(await lockHost(options.stateDir, options));
  const ledger = held.use(new Ledger(join(options.stateDir, 'ledger.db'), [sandboxChapter]));
  const sandboxes = held.use(await sandboxesIn(ledger, options));
  const opened = held.move();
  return { ...sandboxes, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/**
 * The sandboxes of a ledger, for the holder of its lock: reconciles the ledger with reality and adopts every running
 * sandbox. A failure leaves nothing open.
 */
export async function sandboxesIn(ledger: Ledger, options: HostedOptions): Promise<Sandboxes> {
  const {
    most,
    policy,
    journalQuota,
    sweepEveryMs,
    runtimes,
    warn,
    signal,
    events,
    log,
    formerUser,
    egress,
    tools,
  } = options;
  await using held = new AsyncDisposableStack();
  const table = new SandboxTable(ledger);
  held.use(egress);
  // Creates its tables before anything depends on them.
  egress.remembered('');
  const source = held.use(new SandboxSource(options));
  const registry = held.use(
    new Registry({
      table,
      source,
      limits: most,
      mostCheckpointBytes: options.mostCheckpointBytes ?? null,
      egress,
      ...(events && { events }),
      ...(log && { log }),
      ...(tools && { tools }),
    }),
  );
  const closing = new AbortController();
  const sides = { registry, runtimes, warn };
  // Once before adopting, and once more for sandboxes that only reality knew.
  const former = formerUser === undefined ? undefined : new FormerUser(sides, formerUser);
  await former?.move({ signal });
  const { settled, reaping } = await reconcile(sides, closing.signal, { signal });
  await former?.moveRest({ signal });

  const swept = async (cancel: Cancel = {}) => {
    const report = await sweep(registry, policy, cancel);
    if (journalQuota !== undefined) keepJournalQuota(table.all(), journalQuota);
    return report;
  };
  const tend = async () => {
    await reconcileUnsettled(sides, { signal: closing.signal });
    await swept({ signal: closing.signal });
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
    warm: (count, spec = {}, cancel = {}) => source.warm(spec, count, cancel),
    sweep: swept,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
