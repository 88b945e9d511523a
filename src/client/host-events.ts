import { fromWire } from '../api/schemas/names.ts';
import type { Cancel } from '../core/cancel.ts';
import type { EventGap, HostEvent } from '../core/events.ts';
import { followEvents } from './events.ts';
import type { Connection } from './send.ts';

export interface EventsOptions extends Cancel {
  /** The last sequence number that the caller has; by default only what comes from now on is heard. */
  readonly after?: number;
  /** `everyone` needs the scope `admin`. */
  readonly whose?: 'mine' | 'everyone';
  /** How long a host may be away before the reading fails; default 30 s. */
  readonly patienceMs?: number;
}

/** What happens on the host, each event once, also over lost connections and restarts of the host; ends with the signal. */
export async function* hostEvents(
  connection: Connection,
  { after, whose, patienceMs, signal }: EventsOptions = {},
): AsyncGenerator<HostEvent | EventGap> {
  const events = followEvents<HostEvent | EventGap>(connection, '/api/v1/events', {
    query: { after, whose },
    isLast: () => false,
    ...(patienceMs !== undefined && { patienceMs }),
    signal,
  });
  for await (const event of events) yield fromWire(event) as HostEvent | EventGap;
}
