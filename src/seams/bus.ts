/**
 * The bus between channels and agents: an inbox in lanes, and an outbox. What was accepted is stored before the call
 * returns, and survives the death of every process.
 *
 * A message is worked on at least once: a claim holds it for a lease, and the claim's epoch fences off a worker that
 * comes too late. Its replies are stored in the transaction that ends it, so they exist exactly once. A reply is shown
 * at most once: one whose sending was cut off is in doubt. It is sent again where its platform shows it once all the
 * same, for as long as the platform does; after that its outcome is unknown, and only a person has it sent again.
 */

/**
 * `control` for what must not wait behind a run, such as a stop: it has lanes of its own. `interactive` comes before
 * `scheduled`.
 */
export const messageKinds = ['control', 'interactive', 'scheduled'] as const;
export type MessageKind = (typeof messageKinds)[number];

export interface NewMessage {
  /** Messages of one lane are worked on one at a time, in the order in which they came. */
  readonly lane: string;
  /**
   * Where several hosts share a store, lanes of one home are worked on by one host, for as long as it is heard of.
   * Default: the lane.
   */
  readonly home?: string;
  /** For whom it counts: lanes of different users take turns. */
  readonly user: string;
  /** The channel's own id of the message: a second one with the same key is not stored. */
  readonly key: string;
  readonly kind: MessageKind;
  /** JSON of the owner's own shape. */
  readonly body: string;
  /** In ms since 1970: it joins its lane then, behind what is there. Default: now. */
  readonly due?: number;
}

type MessageState = 'delayed' | 'waiting' | 'running' | 'done' | 'failed' | 'stopped';

export interface BusMessage extends Required<Omit<NewMessage, 'home'>> {
  readonly id: number;
  readonly state: MessageState;
  readonly at: number;
  /** How often it was claimed. */
  readonly tries: number;
  /** Why the last try failed, or null. */
  readonly reason: string | null;
  /** JSON of the outcome, in the format of the handler that ended it; null until then. */
  readonly record: string | null;
  /** The platform's id of the draft that grows while the message is processed; null if there is none. */
  readonly draft: string | null;
}

/** The right to work on a message until the lease ends. */
export interface Claim {
  readonly message: BusMessage;
  /** Grows with every claim on the bus. */
  readonly epoch: number;
}

export interface ClaimOptions {
  readonly kinds: readonly MessageKind[];
  readonly leaseMs: number;
  /** Messages of one user that may be worked on at once, `control` not counted. Default: no limit. */
  readonly mostPerUser?: number;
  /** Only lanes whose names begin with one of these. Default: every lane. */
  readonly lanes?: readonly string[];
}

export interface NewReply {
  readonly channel: string;
  readonly lane: string;
  /** A second reply with the same key is not stored. */
  readonly key: string;
  /** JSON of the channel's shape. */
  readonly body: string;
  /** Sending it twice shows it once, as with an edit: one whose sending was cut off is sent again. Default: false. */
  readonly isRepeatable?: boolean;
}

/** `unknown`: it may or may not have arrived. `failed`: it did not, and will not be tried again. */
type ReplyState = 'waiting' | 'sending' | 'sent' | 'unknown' | 'failed';

export interface BusReply extends Required<NewReply> {
  readonly id: number;
  readonly state: ReplyState;
  readonly at: number;
  readonly tries: number;
  readonly reason: string | null;
  /** The platform's id of the message; null if unknown. */
  readonly platformId: string | null;
  /** Since when an earlier try may have arrived; null: none has. */
  readonly inDoubtSince: number | null;
}

export interface ReplyClaim {
  readonly reply: BusReply;
  readonly epoch: number;
}

export interface Retry {
  readonly due: number;
  readonly reason: string;
  /** The claim counts as no try: nothing failed, it only has to wait. Default: it counts. */
  readonly isNoTry?: boolean;
}

export interface Ending {
  readonly state: 'done' | 'failed' | 'stopped';
  readonly record?: string;
  readonly replies?: readonly NewReply[];
}

/** How the sending of a reply went. */
export type Delivery =
  | { readonly state: 'sent'; readonly platformId: string | null }
  /** It is tried again. `isInDoubt`: this try may have arrived. Default: it certainly did not. */
  | {
      readonly state: 'waiting';
      readonly due: number;
      readonly reason: string;
      readonly isInDoubt?: boolean;
    }
  | { readonly state: 'unknown' | 'failed'; readonly reason: string };

/** A message or reply of a lane, numbered over all lanes. */
export type LaneEntry =
  | { readonly seq: number; readonly at: number; readonly type: 'message'; readonly message: BusMessage }
  | { readonly seq: number; readonly at: number; readonly type: 'reply'; readonly reply: BusReply };

export interface LaneQuery {
  readonly after: number;
  readonly limit: number;
}

export interface Bus {
  /** Stores a message, durably when it returns. `isNew` is false for a key that is known: `id` is then the first one's. */
  put(message: NewMessage): Promise<{ readonly id: number; readonly isNew: boolean }>;
  /**
   * Claims the next message, if any: the first of a lane without work in progress. Interactive lanes come before
   * scheduled ones; then the user with the fewest messages in progress, then the one who has waited longest.
   */
  claim(options: ClaimOptions): Promise<Claim | undefined>;
  /** `lease_lost` when the lease had ended and the message was claimed again or ended. */
  renew(claim: Claim, leaseMs: number): Promise<void>;
  /** Stores the platform's id of the reply draft, for the next handler that claims the message. Throws `lease_lost` like `renew`. */
  keepDraft(claim: Claim, platformId: string): Promise<void>;
  /** Ends the message and stores its replies, both or neither. `lease_lost` as for `renew`. */
  finish(claim: Claim, ending: Ending): Promise<void>;
  /** Gives the message back: it stays the head of its lane and is claimed again when due. `lease_lost` as for `renew`. */
  retry(claim: Claim, options: Retry): Promise<void>;
  /** Changes the body of a message that nobody has claimed yet. False when it is too late, or the change gives nothing. */
  amend(key: string, change: (body: string) => string | undefined): Promise<boolean>;
  /** A message that ended as stopped waits again, for this user, behind what is in its lane. False for any other. */
  reopen(id: number, user: string): Promise<boolean>;
  /** The number of messages ahead of it: in its lane, and in all lanes of its kind. Undefined if it is not waiting. */
  place(id: number): Promise<{ readonly lane: number; readonly all: number } | undefined>;
  message(id: number): Promise<BusMessage | undefined>;
  /** Messages of a lane that wait, in their order: at most that many. */
  waiting(lane: string, limit: number): Promise<readonly BusMessage[]>;
  /** Messages of a lane that wait or are delayed end as `stopped`, with no reply. Gives how many. */
  drop(lane: string): Promise<number>;

  /** Stores a reply that answers no claim. False for a key that is known. */
  storeReply(reply: NewReply): Promise<boolean>;
  /**
   * The next reply to send on a channel: one at a time for each lane, in order. `repeatMs`: for so long the platform
   * shows a reply once that is sent twice. Default: not at all.
   */
  claimReply(channel: string, leaseMs: number, repeatMs?: number): Promise<ReplyClaim | undefined>;
  /** For a send that takes long. `lease_lost` when the lease had ended. */
  renewReply(claim: ReplyClaim, leaseMs: number): Promise<void>;
  /** Whether a reply of the lane waits or is being sent. */
  isUnsent(channel: string, lane: string): Promise<boolean>;
  /** Replies of a lane that were put off for long are tried now: the person is there. */
  hurry(channel: string, lane: string): Promise<void>;
  /** The platform took a reply and could not deliver it: it waits again. False when none goes by that id. */
  takeBack(
    channel: string,
    platformId: string,
    delay: { readonly due: number; readonly reason: string },
  ): Promise<boolean>;
  /** `lease_lost` when the lease had ended. */
  delivered(claim: ReplyClaim, delivery: Delivery): Promise<void>;
  /** Sends a reply of unknown outcome, or a failed one, again: only a person decides that. False for any other. */
  resend(id: number): Promise<boolean>;
  /** Replies of a channel that ended as unknown or failed and that the person does not know of: at most that many. */
  unreported(channel: string, limit: number): Promise<readonly BusReply[]>;
  /** The person is to know of it by a reply, or need not. False when that was settled before. */
  settleReport(id: number, notice?: NewReply): Promise<boolean>;
  /** Of replies whose keys begin so, the one that was stored last. */
  lastOf(keyStart: string): Promise<BusReply | undefined>;
  /** Replies of a lane that ended as unknown or failed, the latest first: at most that many. */
  undelivered(lane: string, limit: number): Promise<readonly BusReply[]>;

  /** Ended messages of a lane after an id, newest last: at most the newest `limit`. */
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
   * For a process that knows itself the only worker: what another left at work is given back at once, and what it was
   * sending becomes unknown, or is sent again where that does no harm.
   */
  recover(): Promise<{ readonly messages: number; readonly replies: number }>;
  /** Calls back after each change, in this process or (where the store can tell) in another. */
  onChange(listener: () => void): Disposable;
}
