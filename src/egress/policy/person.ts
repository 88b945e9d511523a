import { isIP } from 'node:net';
import { isGeodeError } from '../../base/errors.ts';
import { localUser } from '../../base/identity.ts';
import { closedRangeOf } from '../../contract/egress-addresses.ts';
import { shownTarget } from '../../contract/host-name.ts';
import type { Approval, Approvals } from '../../seams/approval.ts';
import type { EgressGrant, EgressOwner, EgressTarget } from '../../seams/egress.ts';
import type { Grants } from './grants.ts';
import type { Request } from './policy.ts';

/** How long a denied target is not asked about again. */
const quietMs = 600_000;
/** Maximum remembered denied targets; the oldest are dropped. */
const mostDenied = 1_000;

/** Asks the person about targets without a rule, for one sandbox. */
export interface Person {
  /** An earlier permission, for this sandbox or permanent. */
  granted(target: EgressTarget): EgressGrant | undefined;
  /** Waits for an answer. Never throws for a decision or a timeout. */
  ask(request: Request, signal: AbortSignal): Promise<Answer>;
}

/** `refused` continues a sentence that starts with the target. */
type Answer = { readonly isOnce: boolean; readonly until: number | null } | { readonly refused: string };

export interface PersonOptions {
  readonly approvals: Approvals;
  /** Undefined once the ledger is closed. */
  readonly grants: () => Grants | undefined;
  readonly owner: EgressOwner;
  readonly waitMs: number;
}

/**
 * Whether the host is a literal private address. A name is not resolved before it is allowed, so this returns false
 * for names.
 */
export function isPrivateTarget({ host }: EgressTarget): boolean {
  return host === 'localhost' || (isIP(host) !== 0 && closedRangeOf(host) !== undefined);
}

export function personFor({ approvals, grants, owner, waitMs }: PersonOptions): Person {
  const user = owner.user === '' ? localUser : owner.user;
  const { sandboxId, chat } = owner;
  const denied = new Map<string, number>();

  const answerOf = (request: Request, approval: Approval): Answer => {
    const { decision, state, byOperator, until, id } = approval;
    const target = shownTarget(request);
    if (state === 'expired')
      return { refused: `was not decided by anybody within ${Math.round(waitMs / 1000)} s` };
    if (decision === null || decision === 'deny') {
      if (state === 'decided') {
        denied.delete(target);
        denied.set(target, Date.now() + quietMs);
        for (const oldest of denied.keys()) if (denied.size > mostDenied) denied.delete(oldest);
      }
      return { refused: state === 'withdrawn' ? 'was not decided in time' : 'was denied by a person' };
    }
    const isPrivate = isPrivateTarget(request);
    if (isPrivate && !byOperator)
      return { refused: 'is a private address, which only the operator of the host can allow' };
    if (decision !== 'allow-once') {
      grants()?.add(user, {
        host: request.host,
        port: request.port,
        sandboxId: decision === 'allow-session' ? sandboxId : null,
        private: isPrivate,
        grantedAt: Date.now(),
        until,
        approval: id,
      });
    }
    return { isOnce: decision === 'allow-once', until };
  };

  return {
    granted: (target) => grants()?.find(user, sandboxId, target),
    async ask(request, signal) {
      const target = shownTarget(request);
      if ((denied.get(target) ?? 0) > Date.now()) return { refused: 'was denied by a person' };
      const { http } = request;
      const how =
        http === undefined ? '' : `\n${http.method} http://${target}${http.path.replace(/[?#].*/s, '')}`;
      try {
        const approval = await approvals.ask(
          {
            user,
            sandbox: sandboxId,
            ...(chat !== undefined && { chat }),
            kind: 'egress',
            title: `Connect to ${isPrivateTarget(request) ? 'the private address ' : ''}${target}`.slice(
              0,
              300,
            ),
            detail: `${target}${how}`,
            waitMs,
            key: target,
            whenLeft: 'keep',
          },
          { signal },
        );
        return answerOf(request, approval);
      } catch (error) {
        if (isGeodeError(error, 'too_many_approvals'))
          return { refused: 'cannot be asked about: too many questions are open' };
        if (isGeodeError(error)) return { refused: 'was not decided before the connection ended' };
        throw error;
      }
    },
  };
}
