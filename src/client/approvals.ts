/** What waits for a decision of the user, and deciding it, over HTTP. Needs the scope `approvals`. */

import type { Cancel } from '../base/cancel.ts';
import type { approvals } from '../contract/approvals.ts';
import type { Approval } from '../seams/approval.ts';
import { type Calls, callsOf } from './calls.ts';
import { followEvents } from './events.ts';
import type { Connection } from './send.ts';

export interface RemoteApprovals extends Calls<typeof approvals> {
  /**
   * Those that are open, then each as it is asked or decided. Goes on when the host is restarted; fails when there is
   * none for longer than `patienceMs` (30 s by default).
   */
  watch(options?: { readonly patienceMs?: number } & Cancel): AsyncGenerator<Approval>;
}

export function remoteApprovals(connection: Connection): RemoteApprovals {
  const calls = callsOf(connection, 'approvals');
  return {
    ...calls,
    async *watch({ patienceMs, signal } = {}) {
      const following = { isLast: () => false, ...(patienceMs !== undefined && { patienceMs }), signal };
      const shown = new Set<string>();
      for await (const event of followEvents<Told>(connection, '/api/v1/events', following)) {
        // Events follow from here on, so what is asked meanwhile is not missed.
        const changed =
          event.type === 'ready' || event.type === 'gap'
            ? await calls.list({ limit: 1000, signal })
            : isTold(event)
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

interface Told {
  readonly type: string;
  readonly approval?: string;
}

function isTold(event: Told): event is Required<Told> {
  return event.type.startsWith('approval-') && event.approval !== undefined;
}
