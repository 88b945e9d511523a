/**
 * Channels: where people write. A channel turns what its platform sends into messages and gives each to `receive`,
 * which returns when the message is stored: only then the channel acknowledges it. It sends replies as given and
 * decides nothing: who may speak, order and repetition are not its business.
 */
import type { GeodeError } from '../base/errors.ts';

interface IncomingFile {
  readonly name: string;
  readonly sizeBytes: number | null;
  /** How the channel finds it again; it is fetched when the message is worked on. */
  readonly reference: string;
}

/** One message from a person, as its channel understood it. */
export interface Incoming {
  readonly channel: string;
  /** Where on the platform: replies go there. */
  readonly address: string;
  /** The platform's own id: the same one never counts twice. */
  readonly id: string;
  readonly sender: { readonly id: string; readonly name: string };
  readonly text: string;
  readonly files: readonly IncomingFile[];
  /** Several people are there. */
  readonly isGroup: boolean;
  /** It is meant for us: always in private, in a group by name or as an answer. */
  readonly isAddressed: boolean;
  /** Somebody else wrote the text: it is never a command. Default: false. */
  readonly isForwarded?: boolean | undefined;
  /** The message that it answers. */
  readonly quoted?: { readonly by: string; readonly text: string } | undefined;
  /** It is a changed form of the message with this id. */
  readonly replaces?: string | undefined;
  /** Messages with the same album are one message with several files. */
  readonly album?: string | undefined;
  /** The kind of a message that Geode cannot read, such as a sticker; then it has no text and no files. */
  readonly unreadable?: string | undefined;
}

export interface Button {
  readonly label: string;
  /** Comes back as the text of a message. At most 40 bytes. */
  readonly value: string;
}

export interface Outgoing {
  /** Markdown. */
  readonly text: string;
  readonly buttons?: readonly Button[] | undefined;
  readonly file?: { readonly name: string; readonly bytes: Uint8Array } | undefined;
  /** Replaces this message of ours instead of adding one. Doing it twice does no harm. */
  readonly edits?: string | undefined;
  /** The message to edit has buttons, which go. */
  readonly dropsButtons?: boolean | undefined;
  /** The idempotency key of a reply; the same on each retry. */
  readonly key?: string | undefined;
  /** Since when an earlier try with this key may have arrived. */
  readonly inDoubtSince?: number | undefined;
}

/** `connecting` until the platform has answered for the first time. `deaf`: nothing comes in, since and why. */
export type ChannelState =
  | { readonly state: 'connecting' | 'connected' | 'stopped' }
  | { readonly state: 'deaf'; readonly since: number; readonly reason: string };

export interface ChannelStatus {
  readonly channel: string;
  readonly state: ChannelState['state'];
  /** In ms since 1970; null unless it is deaf. */
  readonly since: number | null;
  readonly lastError: string | null;
  /** When the last message came in; null: none since the host began. */
  readonly lastMessageAt: number | null;
}

/** The outcome of a failed send: not delivered and may be retried, never deliverable, or unknown. */
type SendFailure =
  /** `retryAfterMs` where the platform says it; null: later and later. */
  | { readonly outcome: 'not-sent'; readonly retryAfterMs: number | null; readonly error: GeodeError }
  | { readonly outcome: 'refused'; readonly error: GeodeError }
  /** `isFinal`: another try would not find out. */
  | { readonly outcome: 'unknown'; readonly isFinal?: boolean; readonly error: GeodeError }
  /** Only of an edit: the message to edit is not there any more. */
  | { readonly outcome: 'gone'; readonly error: GeodeError }
  /** The platform takes nothing for this address until the person writes again. */
  | { readonly outcome: 'closed'; readonly error: GeodeError };

export type SendResult = { readonly outcome: 'sent'; readonly platformId: string | null } | SendFailure;

/** For a platform that calls us. Each call is checked here: nothing else stands before it. */
export interface Webhook {
  /** Returns the response that the platform expects when the address is set up there; throws `unauthorized` for a wrong token. */
  confirm(question: { readonly mode: string; readonly token: string; readonly challenge: string }): string;
  /** Returns when all of it is stored; `unauthorized` when it is not signed by the platform. */
  take(body: Uint8Array, signature: string | undefined): Promise<void>;
}

/** A message that the platform took was not delivered: its address is closed until the person writes. */
export type Closed = (platformId: string, reason: string) => Promise<void>;

export interface Channel extends AsyncDisposable {
  readonly name: string;
  readonly status: ChannelStatus;
  /** Characters that one message may have; longer text is split before it is sent. */
  readonly longestText: number;
  /** For so long a send with the same key shows the message once, however often it is repeated. Default: not at all. */
  readonly repeatMs?: number;
  /** How often a message that grows may be edited there; null where it cannot be. */
  editEveryMs(address: string): number | null;
  /** Begins to listen. A failure is a state, never an exception. */
  start(receive: (incoming: Incoming) => Promise<void>, closed: Closed): void;
  /** Never throws. */
  send(address: string, outgoing: Outgoing): Promise<SendResult>;
  /** Shows that somebody writes, where the platform can. Never throws. */
  typing?(address: string): Promise<void>;
  readonly webhook?: Webhook;
  /** `too_large` above the limit, `channel_failed` when it cannot be had. */
  fetchFile?(file: IncomingFile, mostBytes: number): Promise<Uint8Array>;
}
