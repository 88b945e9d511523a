/** Chats with agents, and who may speak on the channels, over HTTP. */
import { chatSegment } from '../contract/encoding.ts';
import { fromWire, toWire, type Wire } from '../contract/old-names.ts';
import type { Cancel } from '../core/cancel.ts';
import type { ChannelStatus } from '../core/channel.ts';
import type {
  Chat,
  ChatAuditRecord,
  ChatEvent,
  ChatRecord,
  ChatSchedule,
  NewSchedule,
  PairedSender,
  Pairing,
  PostedMessage,
} from '../core/chat.ts';
import { followEvents, streamEvents } from './events.ts';
import { ask, type Connection } from './send.ts';

export interface RemoteChats {
  list(options?: Cancel): Promise<readonly Chat[]>;
  /** Stored when it resolves. With a `key`, sending it again counts once. */
  post(
    chat: string,
    message: { readonly text: string; readonly key?: string },
    options?: Cancel,
  ): Promise<PostedMessage>;
  /** From the beginning, or after a number; goes on after a lost connection and loses nothing. */
  events(
    chat: string,
    options?: { readonly after?: number; readonly follow?: boolean } & Cancel,
  ): AsyncGenerator<ChatEvent>;
  /** All that is kept, oldest first: what was said, and each turn with its tool calls. */
  export(chat: string, options?: Cancel): AsyncGenerator<ChatRecord>;
  /** What is said at set times, the next one first; in one chat, or in all. */
  schedules(options?: { readonly chat?: string } & Cancel): Promise<readonly ChatSchedule[]>;
  schedule(chat: string, schedule: NewSchedule, options?: Cancel): Promise<ChatSchedule>;
  /** False: there was none. */
  unschedule(id: string, options?: Cancel): Promise<boolean>;
  channels(options?: Cancel): Promise<readonly ChannelStatus[]>;
  /** These need the scope `admin`. */
  pairings(options?: Cancel): Promise<readonly Pairing[]>;
  pair(code: string, user: string, options?: Cancel): Promise<PairedSender>;
  /** Who let whom in and who scheduled what, the newest first. */
  audit(options?: { readonly limit?: number } & Cancel): Promise<readonly ChatAuditRecord[]>;
  senders(options?: Cancel): Promise<readonly PairedSender[]>;
  /** Gives those who are left. */
  unpair(channel: string, sender: string, options?: Cancel): Promise<readonly PairedSender[]>;
}

export function remoteChats(connection: Connection): RemoteChats {
  const path = (chat: string) => `/api/v1/chats/${chatSegment(chat)}`;
  const get = <T>(from: string, { signal }: Cancel = {}) => ask<T>(connection, 'GET', from, { signal });
  return {
    async list(cancel) {
      return fromWire((await get<{ chats: Wire<Chat>[] }>('/api/v1/chats', cancel)).chats);
    },
    async post(chat, message, { signal } = {}) {
      const sending = { json: message, signal };
      return fromWire(await ask<Wire<PostedMessage>>(connection, 'POST', `${path(chat)}/messages`, sending));
    },
    async *events(chat, { after, follow = true, signal } = {}) {
      const query = { ...(after !== undefined && { after }), follow };
      const events = follow
        ? followEvents<Wire<ChatEvent>>(connection, `${path(chat)}/events`, {
            query,
            isLast: () => false,
            signal,
          })
        : streamEvents<Wire<ChatEvent>>(connection, 'GET', `${path(chat)}/events`, { query, signal });
      for await (const event of events) yield fromWire(event) as ChatEvent;
    },
    async *export(chat, { signal } = {}) {
      const from = `${path(chat)}/export`;
      for await (const record of streamEvents<Wire<ChatRecord>>(connection, 'GET', from, { signal }))
        yield fromWire(record) as ChatRecord;
    },
    async schedules({ chat, signal } = {}) {
      const query = chat === undefined ? '' : `?chat=${encodeURIComponent(chat)}`;
      const found = await get<{ schedules: Wire<ChatSchedule>[] }>(`/api/v1/schedules${query}`, { signal });
      return fromWire(found.schedules);
    },
    async schedule(chat, schedule, { signal } = {}) {
      const sending = { json: toWire(schedule), signal };
      return fromWire(await ask<Wire<ChatSchedule>>(connection, 'POST', `${path(chat)}/schedules`, sending));
    },
    async unschedule(id, { signal } = {}) {
      const at = `/api/v1/schedules/${encodeURIComponent(id)}`;
      return (await ask<{ removed: boolean }>(connection, 'DELETE', at, { signal })).removed;
    },
    async channels(cancel) {
      return fromWire((await get<{ channels: Wire<ChannelStatus>[] }>('/api/v1/channels', cancel)).channels);
    },
    async pairings(cancel) {
      return fromWire((await get<{ pairings: Wire<Pairing>[] }>('/api/v1/pairings', cancel)).pairings);
    },
    async pair(code, user, { signal } = {}) {
      const to = `/api/v1/pairings/${encodeURIComponent(code)}`;
      return fromWire(await ask<Wire<PairedSender>>(connection, 'POST', to, { json: { user }, signal }));
    },
    async audit({ limit = 100, signal } = {}) {
      return (await get<{ records: ChatAuditRecord[] }>(`/api/v1/chat-audit?limit=${limit}`, { signal }))
        .records;
    },
    async senders(cancel) {
      return fromWire((await get<{ senders: Wire<PairedSender>[] }>('/api/v1/senders', cancel)).senders);
    },
    async unpair(channel, sender, { signal } = {}) {
      const at = `/api/v1/senders/${encodeURIComponent(channel)}/${encodeURIComponent(sender)}`;
      const left = await ask<{ senders: Wire<PairedSender>[] }>(connection, 'DELETE', at, { signal });
      return fromWire(left.senders);
    },
  };
}
