import type { Cancel } from '../base/cancel.ts';
import type { User } from '../base/identity.ts';

/** `egress`: a connection out. `tool`: something that an agent is about to do. `question`: an agent wants an answer. */
export const approvalKinds = ['egress', 'tool', 'question'] as const;
export type ApprovalKind = (typeof approvalKinds)[number];

/**
 * Possible decisions. `allow-session` lasts as long as the sandbox (or the session of the asker).
 * `allow-always` lasts permanently, or until the time that the person sets. The asker remembers it: the approval only
 * records the decision.
 */
export const approvalDecisions = ['allow-once', 'allow-session', 'allow-always', 'deny'] as const;
export type ApprovalDecision = (typeof approvalDecisions)[number];

/** A request for a person's decision. */
export interface ApprovalRequest {
  /** Only this user is asked. */
  readonly user: User;
  /** Id of the sandbox concerned, and the chat it belongs to, if there is one. */
  readonly sandbox?: string;
  readonly chat?: string;
  readonly kind: ApprovalKind;
  /** One line: what will happen, such as `Connect to example.com:443`. */
  readonly title: string;
  /** Exactly what will happen: the command, the diff, the host and port. Never shortened: too long is refused. */
  readonly detail?: string;
  /** Possible decisions (default: all). `deny` is always possible. */
  readonly choices?: readonly ApprovalDecision[];
  /** Answers to pick from, for a question; a person may write another. */
  readonly answers?: readonly string[];
  /** How long a person has before it counts as denied; 10 minutes by default. */
  readonly waitMs?: number;
  /**
   * Two requests of one user with the same kind and key are the same question: the second joins the first while it is
   * open. A decision that could not be delivered, because the host restarted or the asker had left, goes to the next
   * request with this key.
   */
  readonly key?: string;
  /**
   * The handling when every waiting asker has left. `withdraw` (default): close it, because nobody would act on the
   * decision. `keep`: leave it open until it expires; the next request with the same key gets the decision.
   */
  readonly whenLeft?: 'withdraw' | 'keep';
}

/** `expired` and `withdrawn` ones are decided too, as `deny`. */
export type ApprovalState = 'open' | 'decided' | 'expired' | 'withdrawn';

/** As it is kept. Once it is not open it never changes. Times are in ms since 1970. */
export interface Approval {
  readonly id: string;
  readonly user: User;
  readonly sandbox: string | null;
  readonly chat: string | null;
  readonly kind: ApprovalKind;
  readonly title: string;
  readonly detail: string;
  readonly choices: readonly ApprovalDecision[];
  readonly answers: readonly string[];
  readonly askedAt: number;
  readonly expiresAt: number;
  readonly state: ApprovalState;
  /** Null while it is open. */
  readonly decision: ApprovalDecision | null;
  readonly decidedAt: number | null;
  /** The decider: `socket`, `key 1f2e3d4c5b6a`, or the person's name on a channel. Null if nobody did. */
  readonly decidedBy: string | null;
  /** The operator of the host decided: on its own socket, or with a key that has the scope `admin`. */
  readonly byOperator: boolean;
  /** The person's answer to a question. */
  readonly answer: string | null;
  /** When `allow-always` ends; null: never. */
  readonly until: number | null;
}

export interface DecideApproval {
  readonly decision: ApprovalDecision;
  /** For the record. */
  readonly by: string;
  /** The operator of the host decides (default false). */
  readonly byOperator?: boolean;
  readonly answer?: string;
  /** How long `allow-always` lasts from now on (default: permanently). */
  readonly forMs?: number;
}

export interface ListApprovals {
  /** Default `open`. */
  readonly state?: 'open' | 'all';
  readonly chat?: string;
  /** Default 100. */
  readonly limit?: number;
}

/**
 * The one way to ask a person. Kept in the ledger, so an open one outlives a restart of the host and every decision
 * stays on record with who made it.
 */
export interface Approvals {
  /**
   * Asks, and waits until it is decided; nobody deciding in time is a `deny`. Throws `too_many_approvals` when the
   * sandbox has too many open ones, `cancelled` when the signal fires, `stopping` when the host ends (the approval
   * stays open then).
   */
  ask(request: ApprovalRequest, options?: Cancel): Promise<Approval>;
  /** Oldest first while open; with `all` newest first. */
  list(user: User, options?: ListApprovals): readonly Approval[];
  /** `approval_not_found` for an unknown one, and for one of another user. */
  get(user: User, id: string): Approval;
  /** `approval_decided` when it is not open any more; `invalid_input` for a decision that is not among its choices. */
  decide(user: User, id: string, decided: DecideApproval): Approval;
  /** Withdraws the open ones of a sandbox that is gone. Never throws. */
  withdraw(sandbox: string): void;
}

/** For askers that treat all kinds of permission alike. */
export function isAllowed({ decision }: Pick<Approval, 'decision'>): boolean {
  return decision !== null && decision !== 'deny';
}
