/** Chats with agents, and who may speak on the channels, over HTTP. */
import { chatSegment } from '../api/schemas/encoding.ts';
import { fromWire, type Wire } from '../api/schemas/names.ts';
import type { Cancel } from '../core/cancel.ts';
import type { ChannelStatus } from '../core/channel.ts';
import type { Chat, ChatEvent, PairedSender, Pairing, PostedMessage } from '../core/chat.ts';
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
  channels(options?: Cancel): Promise<readonly ChannelStatus[]>;
  /** These need the scope `admin`. */
  pairings(options?: Cancel): Promise<readonly Pairing[]>;
  pair(code: string, user: string, options?: Cancel): Promise<PairedSender>;
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
