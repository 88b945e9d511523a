import type { Cancel } from '../base/cancel.ts';
import type { User } from '../base/identity.ts';

/** `egress`: a connection out. `tool`: something that an agent is about to do. `question`: an agent wants an answer. */
export const approvalKinds = ['egress', 'tool', 'question'] as const;
export type ApprovalKind = (typeof approvalKinds)[number];

/**
 * What a person can say. `allow-session`: for as long as the sandbox (or the session of the asker) is there.
 * `allow-always`: for good, or until the time that the person gives. Whoever asked remembers it: the approval only
 * records what was said.
 */
export const approvalDecisions = ['allow-once', 'allow-session', 'allow-always', 'deny'] as const;
export type ApprovalDecision = (typeof approvalDecisions)[number];

/** What somebody wants a person to decide. */
export interface ApprovalRequest {
  /** Only this user is asked. */
  readonly user: User;
  /** The id of the sandbox that it is about, and the chat it belongs to; left out where there is none. */
  readonly sandbox?: string;
  readonly chat?: string;
  readonly kind: ApprovalKind;
  /** One line: what will happen, such as `Connect to example.com:443`. */
  readonly title: string;
  /** Exactly what will happen: the command, the diff, the host and port. Never shortened: too long is refused. */
  readonly detail?: string;
  /** Which decisions make sense; all by default. `deny` can always be said. */
  readonly choices?: readonly ApprovalDecision[];
  /** Answers to pick from, for a question; a person may write another. */
  readonly answers?: readonly string[];
  /** How long a person has before it counts as denied; 10 minutes by default. */
  readonly waitMs?: number;
  /**
   * Two requests of one user with the same kind and key are the same question: the second joins the first while it is
   * open. A decision that nobody was there to hear, because the host was restarted or the asker had left, is given to
   * the next who asks with this key.
   */
  readonly key?: string;
  /**
   * What becomes of it when everybody who waits has left. `withdraw` (default): nothing would happen any more, so it
   * is over. `keep`: it stays open until its time is up, and the next who asks with the same key hears the decision.
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
  /** Who said it: `socket`, `key 1f2e3d4c5b6a`, or what a channel calls the person. Null when nobody did. */
  readonly decidedBy: string | null;
  /** Whoever runs the host said it: on its own socket, or with a key that has the scope `admin`. */
  readonly byOperator: boolean;
  /** What the person wrote, for a question. */
  readonly answer: string | null;
  /** Until when `allow-always` holds; null: for good. */
  readonly until: number | null;
}

export interface DecideApproval {
  readonly decision: ApprovalDecision;
  /** For the record. */
  readonly by: string;
  /** Whoever runs the host says it; default false. */
  readonly byOperator?: boolean;
  readonly answer?: string;
  /** How long `allow-always` holds from now on; left out: for good. */
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

/** What was allowed, for an asker that has no use for the difference. */
export function isAllowed({ decision }: Pick<Approval, 'decision'>): boolean {
  return decision !== null && decision !== 'deny';
}
