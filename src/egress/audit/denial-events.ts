import { localUser } from '../../base/identity.ts';
import type { Denial, EgressOwner } from '../../seams/egress.ts';
import type { EventSink } from '../../seams/events.ts';

/** Repeated denials of one target within this time send one event. */
const windowMs = 60_000;
/** Maximum targets of one sandbox that get an event in that time. The audit has all of them. */
const mostTargets = 30;

/** Emits the refusals of one sandbox as events. Repeated requests cannot push other events out of the stream. */
export function denialEvents(
  events: EventSink,
  { user, sandboxId, chat }: EgressOwner,
  now: () => number = Date.now,
): (denial: Denial) => void {
  const reported = new Set<string>();
  let windowEnd = 0;
  return ({ host, port, rule }) => {
    if (now() >= windowEnd) {
      windowEnd = now() + windowMs;
      reported.clear();
    }
    const target = `${host}:${port}`;
    if (reported.has(target) || reported.size >= mostTargets) return;
    reported.add(target);
    events.emit(user === '' ? localUser : user, {
      type: 'egress-denied',
      sandbox: sandboxId,
      chat: chat ?? null,
      host,
      port,
      rule,
    });
  };
}
