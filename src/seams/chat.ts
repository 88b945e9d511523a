/**
 * Chats: messages that people write on channels, answered by agents in sandboxes. Each chat belongs to one user. The
 * agent and the sandbox of a chat have the chat's name.
 */

import type { Cancel } from '../base/cancel.ts';
import type { AgentTurnRecord } from './agent.ts';
import type { Button, ChannelStatus, Webhook } from './channel.ts';

export interface Chat {
  /** The chat's name in the user's sandboxes and agents. */
  readonly name: string;
  readonly channel: string;
  /** Used for new messages; null: the default. */
  readonly model: string | null;
  readonly createdAt: number;
  readonly activeAt: number;
}

/** The queue position of a message: how many are before it in its chat, and in all chats. */
interface ChatPlace {
  readonly lane: number;
  readonly all: number;
}

export interface PostedMessage {
  readonly id: number;
  /** False: a message with this key already existed. */
  readonly isNew: boolean;
  /** Null if nothing is before it. */
  readonly place: ChatPlace | null;
}

/** Events with a `seq` are stored and can be read again; the others are sent only to current readers. */
export type ChatEvent =
  | {
      readonly type: 'message';
      readonly seq: number;
      readonly at: number;
      readonly id: number;
      readonly sender: string;
      readonly text: string;
      readonly files: readonly string[];
    }
  | {
      readonly type: 'reply';
      readonly seq: number;
      readonly at: number;
      readonly id: number;
      /** The message that it answers; null for an answer without a message. */
      readonly answers: number | null;
      /** The last event of that message. */
      readonly isLast: boolean;
      /** Why there is no answer. */
      readonly isFailure: boolean;
      readonly text: string;
      readonly buttons: readonly Button[];
      readonly file: string | null;
      readonly state: 'waiting' | 'sending' | 'sent' | 'unknown' | 'failed';
    }
  /** Also sent when the answer restarts: earlier text is then void. */
  | { readonly type: 'turn-start'; readonly message: number }
  | { readonly type: 'text-delta'; readonly message: number; readonly text: string }
  | { readonly type: 'tool-call'; readonly message: number; readonly tool: string };

/** A permanent record of a chat: messages and actions of the agent. */
export type ChatRecord =
  | Extract<ChatEvent, { readonly seq: number }>
  | ({ readonly type: 'turn'; readonly at: number } & AgentTurnRecord);

/** For times that passed while no host ran: send one message, or none. */
export const catchUps = ['once', 'skip'] as const;
export type CatchUp = (typeof catchUps)[number];

/** A message that is sent to a chat at set times, as if its user wrote it. Each time counts once, across restarts. */
export interface ChatSchedule {
  readonly id: string;
  readonly chat: string;
  /** The time as it was entered: `0 9 * * 1-5 Europe/Berlin`, `every 2h`, `in 20m`, `2027-01-31T09:00`. */
  readonly when: string;
  readonly text: string;
  readonly catchUp: CatchUp;
  /** In ms since 1970. */
  readonly next: number;
}

export interface NewSchedule {
  readonly when: string;
  readonly text: string;
  /** Default `once`. */
  readonly catchUp?: CatchUp | undefined;
}

/** Changes to pairings and schedules. `schedule-skip`: the time passed while no host ran, and the message is not sent later. */
export const chatActions = [
  'pair',
  'unpair',
  'schedule-add',
  'schedule-remove',
  'schedule-run',
  'schedule-skip',
] as const;
export type ChatAction = (typeof chatActions)[number];

export interface ChatAuditRecord {
  readonly at: number;
  /** A sender (`telegram:42`), the socket, a key, the agent of a chat, or the clock. */
  readonly by: string;
  readonly deed: ChatAction;
  /** The thing and its user; never the text of a message. */
  readonly detail: Readonly<Record<string, string | number>>;
}

export interface UserSchedules {
  /** The next one first; of one chat, or of all chats. */
  list(chat?: string): readonly ChatSchedule[];
  /**
   * A new chat name creates a chat on the web. Throws `invalid_input` for an invalid time or if the text is a
   * command, and `too_many_schedules` when the chat has its maximum, or `most`.
   */
  add(chat: string, schedule: NewSchedule, by: string, most?: number): ChatSchedule;
  /** Returns false if the user has no schedule with that id. */
  remove(id: string, by: string): boolean;
}

/** A message that arrives while the agent works follows after its turn, or steers it before its next step. */
export const duringTurns = ['follow', 'steer'] as const;
export type DuringTurn = (typeof duringTurns)[number];

export interface NewMessage {
  readonly text: string;
  readonly key?: string | undefined;
  /** Default: as the chat is set. */
  readonly during?: DuringTurn | undefined;
}

/** The chats of one user. */
interface UserChats {
  readonly schedules: UserSchedules;
  list(): readonly Chat[];
  /** Writes as the user in a chat of any channel. A new chat name creates a chat on the web. */
  post(chat: string, message: NewMessage): Promise<PostedMessage>;
  /** Yields the events after a number; with `follow` it waits for more until the signal fires. A new chat has no events. */
  events(
    chat: string,
    options?: { readonly after?: number | undefined; readonly follow?: boolean | undefined } & Cancel,
  ): AsyncGenerator<ChatEvent>;
  /** Everything stored of a chat, oldest first, including conversations ended by `/new`. Empty for a new chat. */
  export(chat: string, options?: Cancel): AsyncGenerator<ChatRecord>;
}

/** A person on a platform who asked for access. */
export interface Pairing {
  readonly code: string;
  readonly channel: string;
  readonly sender: string;
  readonly name: string;
  readonly expiresAt: number;
}

export interface PairedSender {
  readonly channel: string;
  readonly sender: string;
  readonly name: string;
  readonly user: string;
  readonly pairedAt: number;
  /** The person or key that paired them. */
  readonly pairedBy: string;
}

export interface Chats extends AsyncDisposable {
  of(user: string): UserChats;
  channels(): readonly ChannelStatus[];
  /** Undefined if no such channel is open or its platform does not call Geode. */
  webhook(channel: string): Webhook | undefined;
  /** Pairing requests that have not expired. */
  pairings(): readonly Pairing[];
  /** Throws `pairing_not_found` for an unknown or expired code. */
  pair(code: string, options: { readonly user: string; readonly by: string }): Promise<PairedSender>;
  senders(): readonly PairedSender[];
  /** Newest first. */
  audit(options: { readonly limit: number }): readonly ChatAuditRecord[];
  /** Returns false if there is no such pairing. */
  unpair(channel: string, sender: string, by: string): boolean;
}
