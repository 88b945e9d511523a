/** What waits for a decision of the user, and deciding it, over HTTP. Needs the scope `approvals`. */
import type { WireApproval } from '../contract/approvals.ts';
import { fromWire, toWire } from '../contract/names.ts';
import type { Approval, DecideApproval, ListApprovals } from '../core/approval.ts';
import type { Cancel } from '../core/cancel.ts';
import { followEvents } from './events.ts';
import { ask, type Connection } from './send.ts';

export interface RemoteApprovals {
  /** The open ones, oldest first; with `state: 'all'` every one, newest first. */
  list(options?: ListApprovals & Cancel): Promise<readonly Approval[]>;
  get(id: string, options?: Cancel): Promise<Approval>;
  /** `approval_decided` when somebody was faster, or its time was up. */
  decide(id: string, decided: Omit<DecideApproval, 'by' | 'byOperator'>, options?: Cancel): Promise<Approval>;
  /**
   * Those that are open, then each as it is asked or decided. Goes on when the host is restarted; fails when there is
   * none for longer than `patienceMs` (30 s by default).
   */
  watch(options?: { readonly patienceMs?: number } & Cancel): AsyncGenerator<Approval>;
}

export function remoteApprovals(connection: Connection): RemoteApprovals {
  const base = '/api/v1/approvals';
  const path = (id: string) => `${base}/${encodeURIComponent(id)}`;
  return {
    async list({ signal, ...query } = {}) {
      const { approvals } = await ask<{ approvals: WireApproval[] }>(connection, 'GET', base, {
        query,
        signal,
      });
      return fromWire(approvals);
    },
    get: async (id, { signal } = {}) =>
      fromWire(await ask<WireApproval>(connection, 'GET', path(id), { signal })),
    decide: async (id, decided, { signal } = {}) =>
      fromWire(await ask<WireApproval>(connection, 'POST', path(id), { json: toWire(decided), signal })),
    async *watch({ patienceMs, signal } = {}) {
      const following = { isLast: () => false, ...(patienceMs !== undefined && { patienceMs }), signal };
      const shown = new Set<string>();
      for await (const event of followEvents<Told>(connection, '/api/v1/events', following)) {
        // Events follow from here on, so what is asked meanwhile is not missed.
        const changed =
          event.type === 'ready' || event.type === 'gap'
            ? await this.list({ limit: 1000, signal })
            : isTold(event)
              ? [await this.get(event.approval, { signal })]
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
