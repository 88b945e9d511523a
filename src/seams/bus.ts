/**
 * The bus between channels and agents: an inbox divided into lanes, and an outbox. An accepted message is stored
 * before the call returns and survives the death of every process.
 *
 * Messages are processed at least once. A claim holds a message for a lease; the epoch of the claim fences off a
 * worker that comes too late. Replies are stored in the transaction that ends their message, so they exist exactly
 * once. A reply is shown at most once. If the sending of a reply was cut off, its outcome is in doubt: it is sent
 * again only while its platform shows repeated sends once. After that its outcome is `unknown`, and only a person can
 * send it again.
 */

/**
 * `control` messages, such as a stop, have lanes of their own so that they never wait for a run. `interactive` comes
 * before `scheduled`.
 */
export const messageKinds = ['control', 'interactive', 'scheduled'] as const;
export type MessageKind = (typeof messageKinds)[number];

export interface NewMessage {
  /** Messages of one lane are processed one at a time, in the order of arrival. */
  readonly lane: string;
  /** When several hosts share a store, one host processes all lanes of a home while it is alive. Default: the lane. */
  readonly home?: string;
  /** The user that it counts for. Lanes of different users take turns. */
  readonly user: string;
  /** The channel's own id of the message. A second message with the same key is not stored. */
  readonly key: string;
  readonly kind: MessageKind;
  /** JSON in the sender's own format. */
  readonly body: string;
  /** In ms since 1970. The message joins its lane then, behind the waiting ones. Default: now. */
  readonly due?: number;
}

type MessageState = 'delayed' | 'waiting' | 'running' | 'done' | 'failed' | 'stopped';

export interface BusMessage extends Required<Omit<NewMessage, 'home'>> {
  readonly id: number;
  readonly state: MessageState;
  readonly at: number;
  /** How many times it was claimed. */
  readonly tries: number;
  /** Why the last attempt failed; null if none failed. */
  readonly reason: string | null;
  /** JSON of the outcome, in the format of the handler that ended it; null until then. */
  readonly record: string | null;
  /** The platform's id of the draft that grows while the message is processed; null if there is none. */
  readonly draft: string | null;
}

/** The right to process a message until the lease ends. */
export interface Claim {
  readonly message: BusMessage;
  /** Grows with every claim on the bus. */
  readonly epoch: number;
}

export interface ClaimOptions {
  readonly kinds: readonly MessageKind[];
  readonly leaseMs: number;
  /** Maximum number of messages of one user in progress, `control` not counted. Default: no limit. */
  readonly mostPerUser?: number;
  /** Prefixes of the lanes to claim from. Default: every lane. */
  readonly lanes?: readonly string[];
}

export interface NewReply {
  readonly channel: string;
  readonly lane: string;
  /** A second reply with the same key is not stored. */
  readonly key: string;
  /** JSON in the channel's format. */
  readonly body: string;
  /** Sending it twice shows it once, as with an edit. A send that was cut off is then repeated. Default: false. */
  readonly isRepeatable?: boolean;
}

/** `unknown`: it may have arrived. `failed`: it did not arrive and will not be tried again. */
type ReplyState = 'waiting' | 'sending' | 'sent' | 'unknown' | 'failed';

export interface BusReply extends Required<NewReply> {
  readonly id: number;
  readonly state: ReplyState;
  readonly at: number;
  readonly tries: number;
  readonly reason: string | null;
  /** The platform's id of the message; null if unknown. */
  readonly platformId: string | null;
  /** When an earlier attempt may have arrived; null if none may have. */
  readonly inDoubtSince: number | null;
}

export interface ReplyClaim {
  readonly reply: BusReply;
  readonly epoch: number;
}

export interface Retry {
  readonly due: number;
  readonly reason: string;
  /** This claim does not count as an attempt: nothing failed, the message only has to wait. Default: it counts. */
  readonly isNoTry?: boolean;
}

export interface Ending {
  readonly state: 'done' | 'failed' | 'stopped';
  readonly record?: string;
  readonly replies?: readonly NewReply[];
}

/** The outcome of sending a reply. */
export type Delivery =
  | { readonly state: 'sent'; readonly platformId: string | null }
  /** Will be tried again. `isInDoubt`: this attempt may have arrived. Default: it did not. */
  | {
      readonly state: 'waiting';
      readonly due: number;
      readonly reason: string;
      readonly isInDoubt?: boolean;
    }
  | { readonly state: 'unknown' | 'failed'; readonly reason: string };

/** A message or reply of a lane. Numbers are unique over all lanes. */
export type LaneEntry =
  | { readonly seq: number; readonly at: number; readonly type: 'message'; readonly message: BusMessage }
  | { readonly seq: number; readonly at: number; readonly type: 'reply'; readonly reply: BusReply };

export interface LaneQuery {
  readonly after: number;
  readonly limit: number;
}

export interface Bus {
  /**
   * Stores a message durably before it returns. For a known key, `isNew` is false and `id` is that of the first
   * message.
   */
  put(message: NewMessage): Promise<{ readonly id: number; readonly isNew: boolean }>;
  /**
   * Claims the next message, if any: the first of a lane without work in progress. Interactive lanes come before
   * scheduled ones; then the user with the fewest messages in progress, then the one who has waited longest.
   */
  claim(options: ClaimOptions): Promise<Claim | undefined>;
  /** Throws `lease_lost` if the lease ended and the message was claimed again or has ended. */
  renew(claim: Claim, leaseMs: number): Promise<void>;
  /** Stores the platform's id of the reply draft, for the next handler that claims the message. Throws `lease_lost` like `renew`. */
  keepDraft(claim: Claim, platformId: string): Promise<void>;
  /** Ends the message and stores its replies in one transaction. Throws `lease_lost` like `renew`. */
  finish(claim: Claim, ending: Ending): Promise<void>;
  /** Returns the message to the head of its lane; it is claimed again when due. Throws `lease_lost` like `renew`. */
  retry(claim: Claim, options: Retry): Promise<void>;
  /**
   * Changes the body of a message that nobody has claimed yet. Returns false if it is too late or `change` returns
   * nothing.
   */
  amend(key: string, change: (body: string) => string | undefined): Promise<boolean>;
  /**
   * Queues a message that ended as stopped again, for this user, at the end of its lane. Returns false for any other
   * message.
   */
  reopen(id: number, user: string): Promise<boolean>;
  /** The number of messages ahead of it: in its lane, and in all lanes of its kind. Undefined if it is not waiting. */
  place(id: number): Promise<{ readonly lane: number; readonly all: number } | undefined>;
  message(id: number): Promise<BusMessage | undefined>;
  /** Waiting messages of a lane in order, at most `limit`. */
  waiting(lane: string, limit: number): Promise<readonly BusMessage[]>;
  /** Ends the waiting and delayed messages of a lane as `stopped`, without replies. Returns how many. */
  drop(lane: string): Promise<number>;

  /** Stores a reply that belongs to no claim. Returns false for a known key. */
  storeReply(reply: NewReply): Promise<boolean>;
  /**
   * Claims the next reply to send on a channel: one at a time for each lane, in order. `repeatMs`: how long the
   * platform shows a reply once even if it is sent twice. Default: 0.
   */
  claimReply(channel: string, leaseMs: number, repeatMs?: number): Promise<ReplyClaim | undefined>;
  /** Extends the lease of a send that takes long. Throws `lease_lost` if the lease has ended. */
  renewReply(claim: ReplyClaim, leaseMs: number): Promise<void>;
  /** Whether a reply of the lane is waiting or being sent. */
  isUnsent(channel: string, lane: string): Promise<boolean>;
  /** Sends postponed replies of a lane now, because the person is active. */
  hurry(channel: string, lane: string): Promise<void>;
  /** Queues a reply again that the platform accepted but could not deliver. Returns false if no reply has that id. */
  takeBack(
    channel: string,
    platformId: string,
    delay: { readonly due: number; readonly reason: string },
  ): Promise<boolean>;
  /** Throws `lease_lost` if the lease has ended. */
  delivered(claim: ReplyClaim, delivery: Delivery): Promise<void>;
  /**
   * Sends a reply again whose outcome is unknown or failed. Called only for a decision of a person. Returns false for
   * any other reply.
   */
  resend(id: number): Promise<boolean>;
  /** Replies of a channel that ended as unknown or failed and that the person was not notified of, at most `limit`. */
  unreported(channel: string, limit: number): Promise<readonly BusReply[]>;
  /** Decides whether a reply notifies the person. Returns false if that was decided before. */
  settleReport(id: number, notice?: NewReply): Promise<boolean>;
  /** The newest reply whose key has this prefix. */
  lastOf(keyStart: string): Promise<BusReply | undefined>;
  /** Replies of a lane that ended as unknown or failed, newest first, at most `limit`. */
  undelivered(lane: string, limit: number): Promise<readonly BusReply[]>;

  /** Ended messages of a lane with a larger id, newest last: at most the newest `limit`. */
  history(lane: string, query: LaneQuery): Promise<readonly BusMessage[]>;
  /** The messages and replies of a lane, oldest first. */
  read(lane: string, query: LaneQuery): Promise<readonly LaneEntry[]>;
  counts(): Promise<{
    readonly waiting: number;
    readonly running: number;
    readonly unsent: number;
    readonly unknown: number;
  }>;
  /**
   * For a process that knows that it is the only worker. Returns messages in progress to their lanes at once. Replies
   * being sent become `unknown`, or are sent again where that is safe.
   */
  recover(): Promise<{ readonly messages: number; readonly replies: number }>;
  /** Calls the listener after each change made in this process, or in another one if the store can detect that. */
  onChange(listener: () => void): Disposable;
}
