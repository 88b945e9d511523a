import type { Log } from '../base/log.ts';
import type { Bus, Claim, MessageKind } from '../seams/bus.ts';
import { ClaimLoop } from './claim-loop.ts';

interface LanesOptions {
  readonly bus: Bus;
  readonly kinds: readonly MessageKind[];
  /** Maximum messages in progress. */
  readonly concurrency: number;
  readonly mostPerUser?: number;
  /** Prefixes of the lanes to claim from. */
  readonly lanes: readonly string[];
  readonly leaseMs?: number;
  /** Works on one message and ends or returns it. The signal fires when the lease is lost or the host closes. */
  readonly work: (claim: Claim, signal: AbortSignal) => Promise<void>;
  readonly log: Log;
}

const usualLeaseMs = 60_000;

/** Claims messages from the bus until it is closed and works on them. */
export function openLanes({ bus, leaseMs = usualLeaseMs, ...options }: LanesOptions): AsyncDisposable {
  const { kinds, lanes, mostPerUser, concurrency, work, log } = options;
  const wanted = { kinds, lanes, leaseMs, ...(mostPerUser !== undefined && { mostPerUser }) };
  return new ClaimLoop<Claim>({
    ...{ bus, noun: 'message', concurrency, leaseMs, work, stopsWork: true, log },
    idOf: ({ message }) => message.id,
    claim: () => bus.claim(wanted),
    renew: (claim) => bus.renew(claim, leaseMs),
  });
}
