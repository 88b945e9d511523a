import type { TelegramAdapter } from '@chat-adapter/telegram';
import { z } from 'zod';
import { parsedJson } from '../../../base/json.ts';
import type { Incoming } from '../../../seams/channel.ts';
import { fileName, personName } from '../names.ts';
import type { MovedGroups } from './places.ts';

const personSchema = z.looseObject({
  id: z.number(),
  is_bot: z.boolean().optional(),
  first_name: z.string().optional(),
  username: z.string().optional(),
});

type TelegramMessage = Parameters<TelegramAdapter['parseMessage']>[0];

/** Fields that the adapter needs. */
const shapeOfMessage = z.looseObject({
  message_id: z.number(),
  date: z.number(),
  chat: z.looseObject({ id: z.number(), type: z.string() }),
  from: personSchema.optional(),
  text: z.string().optional(),
  caption: z.string().optional(),
  reply_to_message: z.looseObject({ from: personSchema.optional() }).optional(),
});

/** Fields that the adapter ignores. */
const detailSchema = z.looseObject({
  message_thread_id: z.number().optional(),
  is_topic_message: z.boolean().optional(),
  media_group_id: z.string().optional(),
  forward_origin: z.unknown().optional(),
  forward_date: z.number().optional(),
  quote: z.looseObject({ text: z.string() }).optional(),
  reply_to_message: z
    .looseObject({
      from: personSchema.optional(),
      text: z.string().optional(),
      caption: z.string().optional(),
      // Every message in a topic counts as a reply to the topic's first message.
      forum_topic_created: z.unknown().optional(),
    })
    .optional(),
  entities: z.array(z.looseObject({ type: z.string(), user: personSchema.optional() })).optional(),
});

const messageSchema = z.custom<TelegramMessage>((value) => shapeOfMessage.safeParse(value).success);

export const updateSchema = z.looseObject({
  update_id: z.number(),
  message: messageSchema.optional(),
  edited_message: messageSchema.optional(),
  callback_query: z
    .looseObject({
      id: z.string(),
      from: personSchema,
      data: z.string().optional(),
      message: messageSchema.optional(),
    })
    .optional(),
});
export type Update = z.infer<typeof updateSchema>;

export interface Bot {
  readonly id: number;
  /** Letters, digits and underscores. */
  readonly username: string;
}

/** A group became a supergroup. The update may name either as the chat. */
export function movedIn({ message }: Update): { readonly from: string; readonly to: string } | undefined {
  const { migrate_to_chat_id: to, migrate_from_chat_id: from } = moveSchema.parse(message ?? {});
  const own = String(message?.chat.id);
  if (to !== undefined) return { from: own, to: String(to) };
  return from === undefined ? undefined : { from: String(from), to: own };
}

const moveSchema = z.looseObject({
  migrate_to_chat_id: z.number().optional(),
  migrate_from_chat_id: z.number().optional(),
});

/** A message or pressed button of a person; undefined for anything else. */
export function incomingOf(
  adapter: TelegramAdapter,
  places: MovedGroups,
  bot: Bot,
  update: Update,
): Incoming | undefined {
  if (update.callback_query !== undefined) return pressed(places, update.callback_query);
  const message = update.message ?? update.edited_message;
  const edited = update.edited_message?.edit_date;
  if (message?.from === undefined || message.from.is_bot === true) return undefined;
  const parsed = adapter.parseMessage(message);
  const written = message.text ?? message.caption ?? '';
  if (isForOther(written, bot)) return undefined;
  const files = parsed.attachments.flatMap(({ name, size, type, fetchMetadata }) => {
    const reference = fetchMetadata?.fileId;
    return reference === undefined
      ? []
      : [{ name: fileName(name ?? type), sizeBytes: size ?? null, reference }];
  });
  const unreadable = unreadableKinds.find((kind) => kind in message);
  // The other types are notices of Telegram: a person joined, a message was pinned.
  if (written === '' && files.length === 0 && unreadable === undefined) return undefined;
  const detail = detailSchema.parse(message);
  const isGroup = message.chat.type !== 'private';
  const id = `${message.chat.id}/${message.message_id}`;
  return {
    channel: 'telegram',
    address: places.addressOf(String(message.chat.id), topicOf(detail)),
    id: edited === undefined ? id : `${id}/${edited}`,
    sender: senderOf(message.from),
    text: written.startsWith('/') ? written : withoutName(written === '' ? '' : parsed.text, bot),
    files: unreadable === undefined ? files : [],
    isGroup,
    isAddressed: !isGroup || isMeant(message, detail, written, bot),
    isForwarded: detail.forward_origin !== undefined || detail.forward_date !== undefined,
    quoted: quotedIn(detail),
    replaces: edited === undefined ? undefined : id,
    album: detail.media_group_id,
    unreadable,
  };
}

const unreadableKinds = ['sticker', 'contact', 'location', 'venue', 'poll', 'dice', 'game', 'story'] as const;

type Detail = z.infer<typeof detailSchema>;

/** In a plain group a reply also has a thread id, but no place of its own. */
function topicOf({ is_topic_message: isTopic, message_thread_id: topic }: Detail): number | undefined {
  return isTopic === true ? topic : undefined;
}

function quotedIn({ quote, reply_to_message: answered }: Detail): Incoming['quoted'] {
  const text = quote?.text ?? answered?.text ?? answered?.caption;
  if (answered === undefined || text === undefined || text === '') return undefined;
  const { from } = answered;
  return { by: from === undefined ? 'somebody' : senderOf(from).name, text };
}

/** A button carries the text that it sends. */
function pressed(places: MovedGroups, query: NonNullable<Update['callback_query']>): Incoming | undefined {
  const { id, from, data, message } = query;
  if (message === undefined) return undefined;
  const value = buttonValue(data);
  if (value === undefined) return undefined;
  return {
    channel: 'telegram',
    address: places.addressOf(String(message.chat.id), topicOf(detailSchema.parse(message))),
    id: `button/${id}`,
    sender: senderOf(from),
    text: value,
    files: [],
    isGroup: message.chat.type !== 'private',
    isAddressed: true,
  };
}

const buttonSchema = z.object({ v: z.string() });

/** In the adapter's format. */
function buttonValue(data = ''): string | undefined {
  if (!data.startsWith('chat:')) return undefined;
  return buttonSchema.safeParse(parsedJson(data.slice('chat:'.length))).data?.v;
}

interface Person {
  readonly id: number;
  readonly first_name?: string | undefined;
  readonly username?: string | undefined;
}

function senderOf({ id, first_name: first, username }: Person) {
  return { id: String(id), name: personName(first ?? username, String(id)) };
}

function isMeant(
  message: TelegramMessage,
  { entities, reply_to_message: answered }: Detail,
  text: string,
  bot: Bot,
) {
  if (answered?.from?.id === bot.id && answered.forum_topic_created === undefined) return true;
  if (entities?.some(({ type, user }) => type === 'text_mention' && user?.id === bot.id)) return true;
  if (message.chat.type !== 'private' && commandName(text)?.toLowerCase() === bot.username.toLowerCase())
    return true;
  return nameOf(bot).test(text);
}

/** The bot that a command is addressed to, if any. */
function commandName(text: string): string | undefined {
  return /^\/\w+@(\w+)/.exec(text)?.[1];
}

function isForOther(text: string, bot: Bot): boolean {
  const name = commandName(text);
  return name !== undefined && name.toLowerCase() !== bot.username.toLowerCase();
}

/** The whole name, not part of a longer name or an email address. */
function nameOf({ username }: Bot): RegExp {
  return new RegExp(`(?<![\\w@.+-])@${username}(?!\\w|\\.\\w)`, 'gi');
}

function withoutName(text: string, bot: Bot): string {
  return text.replaceAll(nameOf(bot), '').trim();
}
