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

/** A request for a decision by a person. */
export interface ApprovalRequest {
  /** Only this user is asked. */
  readonly user: User;
  /** Id of the sandbox concerned, and the chat it belongs to, if there is one. */
  readonly sandbox?: string;
  readonly chat?: string;
  readonly kind: ApprovalKind;
  /** One line: what will happen, such as `Connect to example.com:443`. */
  readonly title: string;
  /**
   * Exactly what will happen: the command, the diff, the host and port. Never shortened: a text that is too long is
   * refused.
   */
  readonly detail?: string;
  /** Possible decisions (default: all). `deny` is always possible. */
  readonly choices?: readonly ApprovalDecision[];
  /** Answers to choose from, for a question; the person may write another one. */
  readonly answers?: readonly string[];
  /** Time a person has to decide; then it counts as denied. Default: 10 minutes. */
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

/** `expired` and `withdrawn` approvals are decided as `deny`. */
export type ApprovalState = 'open' | 'decided' | 'expired' | 'withdrawn';

/** The stored record. It never changes after the decision. Times are in ms since 1970. */
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
  /** Null while the approval is open. */
  readonly decision: ApprovalDecision | null;
  readonly decidedAt: number | null;
  /** The decider: `socket`, `key 1f2e3d4c5b6a`, or the person's name on a channel. Null if nobody decided. */
  readonly decidedBy: string | null;
  /**
   * Whether the operator of the host decided, through the host's own socket or with a key that has the scope `admin`.
   */
  readonly byOperator: boolean;
  /** The person's answer to a question. */
  readonly answer: string | null;
  /** When `allow-always` ends; null: never. */
  readonly until: number | null;
}

export interface DecideApproval {
  readonly decision: ApprovalDecision;
  /** Stored in the record. */
  readonly by: string;
  /** Whether the operator of the host decides (default false). */
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
 * The one way to ask a person. Stored in the ledger, so open approvals survive a restart of the host, and every
 * decision stays on record with its decider.
 */
export interface Approvals {
  /**
   * Asks and waits for the decision. No decision in time is a `deny`. Throws `too_many_approvals` when the sandbox
   * has too many open ones, `cancelled` when the signal fires, and `stopping` when the host ends (the approval then
   * stays open).
   */
  ask(request: ApprovalRequest, options?: Cancel): Promise<Approval>;
  /** Open approvals oldest first; with `all`, every approval newest first. */
  list(user: User, options?: ListApprovals): readonly Approval[];
  /** Throws `approval_not_found` for an unknown approval or one of another user. */
  get(user: User, id: string): Approval;
  /**
   * Throws `approval_decided` when it is no longer open, and `invalid_input` for a decision that is not among its
   * choices.
   */
  decide(user: User, id: string, decided: DecideApproval): Approval;
  /** Withdraws the open approvals of a removed sandbox. Never throws. */
  withdraw(sandbox: string): void;
}

/** For callers that treat every kind of permission the same. */
export function isAllowed({ decision }: Pick<Approval, 'decision'>): boolean {
  return decision !== null && decision !== 'deny';
}
