import type { TelegramAdapter } from '@chat-adapter/telegram';
import { z } from 'zod';
import type { Incoming } from '../../../core/channel.ts';
import { fileName, personName } from '../names.ts';

const personSchema = z.looseObject({
  id: z.number(),
  is_bot: z.boolean().optional(),
  first_name: z.string().optional(),
  username: z.string().optional(),
});

type TelegramMessage = Parameters<TelegramAdapter['parseMessage']>[0];

/** What the adapter relies on. */
const shapeOfMessage = z.looseObject({
  message_id: z.number(),
  date: z.number(),
  chat: z.looseObject({ id: z.number(), type: z.string() }),
  from: personSchema.optional(),
  text: z.string().optional(),
  caption: z.string().optional(),
  reply_to_message: z.looseObject({ from: personSchema.optional() }).optional(),
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

/** What a person wrote or pressed; undefined for anything else. */
export function incomingOf(adapter: TelegramAdapter, bot: Bot, update: Update): Incoming | undefined {
  if (update.callback_query !== undefined) return pressed(update.callback_query);
  const message = update.message ?? update.edited_message;
  const edited = update.edited_message?.edit_date;
  if (message?.from === undefined || message.from.is_bot === true) return undefined;
  const parsed = adapter.parseMessage(message);
  const written = message.text ?? message.caption ?? '';
  const text = written.startsWith('/') ? written : withoutName(parsed.text, bot);
  const isGroup = message.chat.type !== 'private';
  return {
    channel: 'telegram',
    address: addressOf(parsed.threadId),
    id: `${message.chat.id}/${message.message_id}${edited === undefined ? '' : `/${edited}`}`,
    sender: senderOf(message.from),
    text: edited === undefined ? text : `(edited) ${text}`,
    files: parsed.attachments.flatMap(({ name, size, type, fetchMetadata }) => {
      const reference = fetchMetadata?.fileId;
      return reference === undefined
        ? []
        : [{ name: fileName(name ?? type), sizeBytes: size ?? null, reference }];
    }),
    isGroup,
    isAddressed: !isGroup || isMeant(message, written, bot),
  };
}

/** A button carries the text that pressing it says. */
function pressed(query: NonNullable<Update['callback_query']>): Incoming | undefined {
  const { id, from, data, message } = query;
  if (message === undefined) return undefined;
  const value = buttonValue(data);
  if (value === undefined) return undefined;
  const topic = message.message_thread_id === undefined ? '' : `:${message.message_thread_id}`;
  return {
    channel: 'telegram',
    address: `${message.chat.id}${topic}`,
    id: `button/${id}`,
    sender: senderOf(from),
    text: value,
    files: [],
    isGroup: message.chat.type !== 'private',
    isAddressed: true,
  };
}

const buttonSchema = z.object({ v: z.string() });

/** As the adapter writes it. */
function buttonValue(data = ''): string | undefined {
  if (!data.startsWith('chat:')) return undefined;
  try {
    return buttonSchema.parse(JSON.parse(data.slice('chat:'.length))).v;
  } catch {
    return undefined;
  }
}

function addressOf(threadId: string): string {
  return threadId.slice('telegram:'.length);
}

interface Person {
  readonly id: number;
  readonly first_name?: string | undefined;
  readonly username?: string | undefined;
}

function senderOf({ id, first_name: first, username }: Person) {
  return { id: String(id), name: personName(first ?? username, String(id)) };
}

function isMeant(message: TelegramMessage, text: string, bot: Bot): boolean {
  if (message.reply_to_message?.from?.id === bot.id) return true;
  return text.toLowerCase().includes(`@${bot.username.toLowerCase()}`);
}

function withoutName(text: string, { username }: Bot): string {
  return text.replaceAll(new RegExp(`@${username}\\b`, 'gi'), '').trim();
}
