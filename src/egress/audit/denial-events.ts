import { localUser } from '../../base/identity.ts';
import type { Denial, EgressOwner } from '../../seams/egress.ts';
import type { EventSink } from '../../seams/events.ts';

/** The same target is told of once in this time. */
const windowMs = 60_000;
/** Targets that one sandbox is told of in that time. All of them are in the audit. */
const mostTargets = 30;

/** Tells of the refusals of one sandbox. One that asks again and again cannot push other events out of the stream. */
export function denialTeller(
  events: EventSink,
  { user, sandboxId, chat }: EgressOwner,
  now: () => number = Date.now,
): (denial: Denial) => void {
  const told = new Set<string>();
  let windowEnd = 0;
  return ({ host, port, rule }) => {
    if (now() >= windowEnd) {
      windowEnd = now() + windowMs;
      told.clear();
    }
    const target = `${host}:${port}`;
    if (told.has(target) || told.size >= mostTargets) return;
    told.add(target);
    events.tell(user === '' ? localUser : user, {
      type: 'egress-denied',
      sandbox: sandboxId,
      chat: chat ?? null,
      host,
      port,
      rule,
    });
  };
}
