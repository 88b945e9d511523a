/** Approvals of the user and their decisions, over HTTP. Needs the scope `approvals`. */

import type { Cancel } from '../base/cancel.ts';
import type { approvals } from '../contract/approvals.ts';
import type { Approval } from '../seams/approval.ts';
import { type Calls, callsOf } from './calls.ts';
import { followEvents } from './events.ts';
import type { ApiConnection } from './send.ts';

export interface RemoteApprovals extends Calls<typeof approvals> {
  /**
   * Yields open approvals, then each change. Continues across a restart of the host; fails if no host answers
   * for longer than `patienceMs` (30 s by default).
   */
  watch(options?: { readonly patienceMs?: number } & Cancel): AsyncGenerator<Approval>;
}

export function remoteApprovals(connection: ApiConnection): RemoteApprovals {
  const calls = callsOf(connection, 'approvals');
  return {
    ...calls,
    async *watch({ patienceMs, signal } = {}) {
      const following = { isLast: () => false, ...(patienceMs !== undefined && { patienceMs }), signal };
      const shown = new Set<string>();
      for await (const event of followEvents<StreamedEvent>(connection, '/api/v1/events', following)) {
        // Subscribe before reading the list, so that no change in between is missed.
        const changed =
          event.type === 'ready' || event.type === 'gap'
            ? await calls.list({ limit: 1000, signal })
            : isApprovalEvent(event)
              ? [await calls.get(event.approval, { signal })]
              : [];
        for (const approval of changed) {
          if (approval.state === 'open' && shown.has(approval.id)) continue;
          shown.add(approval.id);
          yield approval;
        }
      }
    },
  };
}

interface StreamedEvent {
  readonly type: string;
  readonly approval?: string;
}

function isApprovalEvent(event: StreamedEvent): event is Required<StreamedEvent> {
  return event.type.startsWith('approval-') && event.approval !== undefined;
}
