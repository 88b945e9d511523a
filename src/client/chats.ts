/** Chats with agents, and people on channels, over HTTP. */
import type { Cancel } from '../base/cancel.ts';
import type { ChannelStatus } from '../seams/channel.ts';
import type {
  Chat,
  ChatAuditRecord,
  ChatEvent,
  ChatRecord,
  ChatSchedule,
  NewMessage,
  NewSchedule,
  PairedSender,
  Pairing,
  PostedMessage,
} from '../seams/chat.ts';
import { callsOf } from './calls.ts';
import type { ApiConnection } from './send.ts';

export interface RemoteChats {
  list(options?: Cancel): Promise<readonly Chat[]>;
  /** Resolves when the message is stored. Repeated sends with the same `key` count once. */
  post(chat: string, message: NewMessage, options?: Cancel): Promise<PostedMessage>;
  /** From the start, or after a number. Continues after a lost connection without missing events. */
  events(
    chat: string,
    options?: { readonly after?: number; readonly follow?: boolean } & Cancel,
  ): AsyncGenerator<ChatEvent>;
  /** The complete record, oldest first: messages, and turns with their tool calls. */
  export(chat: string, options?: Cancel): AsyncGenerator<ChatRecord>;
  /** Scheduled messages, next one first; of one chat, or of all. */
  schedules(options?: { readonly chat?: string } & Cancel): Promise<readonly ChatSchedule[]>;
  schedule(chat: string, schedule: NewSchedule, options?: Cancel): Promise<ChatSchedule>;
  /** Returns false if there is no such schedule. */
  unschedule(id: string, options?: Cancel): Promise<boolean>;
  channels(options?: Cancel): Promise<readonly ChannelStatus[]>;
  /** These need the scope `admin`. */
  pairings(options?: Cancel): Promise<readonly Pairing[]>;
  pair(code: string, user: string, options?: Cancel): Promise<PairedSender>;
  /** Changes to pairings and schedules, newest first. */
  audit(options?: { readonly limit?: number } & Cancel): Promise<readonly ChatAuditRecord[]>;
  senders(options?: Cancel): Promise<readonly PairedSender[]>;
  /** Returns the remaining people. */
  unpair(channel: string, sender: string, options?: Cancel): Promise<readonly PairedSender[]>;
}

export function remoteChats(connection: ApiConnection): RemoteChats {
  const { list, post, events, export: record, channels } = callsOf(connection, 'chats');
  const schedules = callsOf(connection, 'schedules');
  const senders = callsOf(connection, 'senders');
  return {
    list,
    post,
    events,
    export: record,
    schedules: schedules.list,
    schedule: schedules.add,
    unschedule: schedules.remove,
    channels,
    pairings: senders.pairings,
    pair: (code, user, cancel) => senders.pair(code, { user }, cancel),
    audit: senders.audit,
    senders: senders.list,
    unpair: senders.remove,
  };
}
