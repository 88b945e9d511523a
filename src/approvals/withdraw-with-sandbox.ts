import type { Approvals } from '../seams/approval.ts';
import type { EventSink } from '../seams/events.ts';

/** Passes events on. What waits for a decision about a sandbox is over when that sandbox is removed. */
export function withdrawWithSandbox(events: EventSink, approvals: Pick<Approvals, 'withdraw'>): EventSink {
  return {
    tell(user, happening) {
      events.tell(user, happening);
      if (happening.type === 'sandbox-remove') approvals.withdraw(happening.sandbox);
    },
  };
}
