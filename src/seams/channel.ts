/**
 * Channels: the platforms where people write. A channel turns platform updates into messages and passes each to
 * `receive`, which returns when the message is stored. Only then does the channel acknowledge it. A channel sends
 * replies as given. It does not check senders, order or repetition.
 */
import type { GeodeError } from '../base/errors.ts';

interface IncomingFile {
  readonly name: string;
  readonly sizeBytes: number | null;
  /** How the channel finds the file again when the message is processed. */
  readonly reference: string;
}

/** One message from a person, as the channel understood it. */
export interface Incoming {
  readonly channel: string;
  /** The address on the platform; replies go there. */
  readonly address: string;
  /** The platform's own id. Messages with the same id count once. */
  readonly id: string;
  readonly sender: { readonly id: string; readonly name: string };
  readonly text: string;
  readonly files: readonly IncomingFile[];
  /** The chat has several people. */
  readonly isGroup: boolean;
  /** The message addresses the bot: always in private, in a group by name or as an answer to it. */
  readonly isAddressed: boolean;
  /** Somebody else wrote the text, as in a forwarded message: it is never a command. Default: false. */
  readonly isForwarded?: boolean | undefined;
  /** The message that this one answers. */
  readonly quoted?: { readonly by: string; readonly text: string } | undefined;
  /** The id of the message that this one edits. */
  readonly replaces?: string | undefined;
  /** Messages with the same album form one message with several files. */
  readonly album?: string | undefined;
  /** The kind of a message that Geode cannot read, such as a sticker. Such a message has no text and no files. */
  readonly unreadable?: string | undefined;
}

export interface Button {
  readonly label: string;
  /** Returned as the text of a message. At most 40 bytes. */
  readonly value: string;
}

export interface Outgoing {
  /** Markdown. */
  readonly text: string;
  readonly buttons?: readonly Button[] | undefined;
  readonly file?: { readonly name: string; readonly bytes: Uint8Array } | undefined;
  /** Replaces this message of the bot instead of adding one. Repeating it is safe. */
  readonly edits?: string | undefined;
  /** The edited message has buttons, which are removed. */
  readonly dropsButtons?: boolean | undefined;
  /** The idempotency key of a reply; the same on each retry. */
  readonly key?: string | undefined;
  /** When an earlier attempt with this key may have arrived. */
  readonly inDoubtSince?: number | undefined;
}

/**
 * `connecting` until the platform has answered for the first time. `deaf`: no messages come in, with the time and the
 * reason.
 */
export type ChannelState =
  | { readonly state: 'connecting' | 'connected' | 'stopped' }
  | { readonly state: 'deaf'; readonly since: number; readonly reason: string };

export interface ChannelStatus {
  readonly channel: string;
  readonly state: ChannelState['state'];
  /** In ms since 1970; null unless the state is `deaf`. */
  readonly since: number | null;
  readonly lastError: string | null;
  /** When the last message came in; null if none did since the host started. */
  readonly lastMessageAt: number | null;
}

/** The outcome of a failed send: not delivered and may be retried, never deliverable, or unknown. */
type SendFailure =
  /** The delay that the platform asked for; null: increasing delays. */
  | { readonly outcome: 'not-sent'; readonly retryAfterMs: number | null; readonly error: GeodeError }
  | { readonly outcome: 'refused'; readonly error: GeodeError }
  /** `isFinal`: another attempt would not find out. */
  | { readonly outcome: 'unknown'; readonly isFinal?: boolean; readonly error: GeodeError }
  /** For edits: the message to edit was deleted. */
  | { readonly outcome: 'gone'; readonly error: GeodeError }
  /** The platform accepts nothing for this address until the person writes again. */
  | { readonly outcome: 'closed'; readonly error: GeodeError };

export type SendResult = { readonly outcome: 'sent'; readonly platformId: string | null } | SendFailure;

/** For platforms that call Geode. Each call is verified here; there is no check before it. */
export interface Webhook {
  /** Returns the response that the platform expects when the address is set up there; throws `unauthorized` for a wrong token. */
  confirm(question: { readonly mode: string; readonly token: string; readonly challenge: string }): string;
  /** Returns when everything is stored. Throws `unauthorized` if the platform did not sign the call. */
  take(body: Uint8Array, signature: string | undefined): Promise<void>;
}

/** A message that the platform accepted was not delivered. Its address is closed until the person writes. */
export type Closed = (platformId: string, reason: string) => Promise<void>;

export interface Channel extends AsyncDisposable {
  readonly name: string;
  readonly status: ChannelStatus;
  /** Maximum length of one message in characters; longer text is split. */
  readonly longestText: number;
  /** How long the platform shows a message once even if it is sent again with the same key. Default: 0. */
  readonly repeatMs?: number;
  /** Minimum time between edits of a growing message in ms; null where messages cannot be edited. */
  editEveryMs(address: string): number | null;
  /** Starts to listen. Never throws: a failure is a state. */
  start(receive: (incoming: Incoming) => Promise<void>, closed: Closed): void;
  /** Never throws. */
  send(address: string, outgoing: Outgoing): Promise<SendResult>;
  /** Shows that an answer is being written, where the platform supports it. Never throws. */
  typing?(address: string): Promise<void>;
  readonly webhook?: Webhook;
  /** Throws `too_large` above the limit, `channel_failed` if the file cannot be downloaded. */
  fetchFile?(file: IncomingFile, mostBytes: number): Promise<Uint8Array>;
}
