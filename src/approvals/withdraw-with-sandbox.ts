import type { Approvals } from '../seams/approval.ts';
import type { EventSink } from '../seams/events.ts';

/** Passes events on, and withdraws the open approvals of a sandbox when it is removed. */
export function withdrawWithSandbox(events: EventSink, approvals: Pick<Approvals, 'withdraw'>): EventSink {
  return {
    emit(user, eventBody) {
      events.emit(user, eventBody);
      if (eventBody.type === 'sandbox-remove') approvals.withdraw(eventBody.sandbox);
    },
  };
}
