import { z } from 'zod';
import type { Incoming } from '../../../seams/channel.ts';
import { fileName, personName } from '../names.ts';

const userSchema = z.looseObject({
  id: z.string(),
  username: z.string().optional(),
  global_name: z.string().nullish(),
  bot: z.boolean().optional(),
});

const attachmentSchema = z.looseObject({
  id: z.string(),
  filename: z.string(),
  size: z.number().optional(),
  url: z.string(),
});

export const messageSchema = z.looseObject({
  id: z.string(),
  channel_id: z.string(),
  guild_id: z.string().optional(),
  /** Left out by events that only add a preview to a message. */
  author: userSchema.optional(),
  content: z.string().default(''),
  type: z.number().default(0),
  webhook_id: z.string().optional(),
  edited_timestamp: z.string().nullish(),
  attachments: z.array(attachmentSchema).default([]),
  mentions: z.array(userSchema).default([]),
  referenced_message: z
    .looseObject({ author: userSchema.optional(), content: z.string().default('') })
    .nullish(),
  sticker_items: z.array(z.unknown()).default([]),
  message_snapshots: z
    .array(z.looseObject({ message: z.looseObject({ content: z.string().optional() }) }))
    .default([]),
});
export type DiscordMessage = z.infer<typeof messageSchema>;

export const interactionSchema = z.looseObject({
  id: z.string(),
  token: z.string(),
  type: z.number(),
  channel_id: z.string().optional(),
  guild_id: z.string().optional(),
  data: z
    .looseObject({
      custom_id: z.string().optional(),
      /** The name of a command. */
      name: z.string().optional(),
      options: z.array(z.looseObject({ value: z.string().optional() })).default([]),
    })
    .optional(),
  user: userSchema.optional(),
  member: z.looseObject({ user: userSchema }).optional(),
});
export type DiscordInteraction = z.infer<typeof interactionSchema>;

/** A message or a reply; other types are notices of Discord. */
const written = [0, 19];

/** A message of a person; undefined for anything else. A thread is a place of its own. */
export function incomingOf(message: DiscordMessage, botId: string): Incoming | undefined {
  const { author } = message;
  if (author === undefined || author.bot === true || message.webhook_id !== undefined) return undefined;
  if (!written.includes(message.type)) return undefined;
  const isGroup = message.guild_id !== undefined;
  const edited = message.edited_timestamp ?? null;
  const text = textOf(message, botId);
  const isSticker = text === '' && message.attachments.length === 0 && message.sticker_items.length > 0;
  return {
    channel: 'discord',
    address: message.channel_id,
    id: edited === null ? message.id : `${message.id}/${edited}`,
    sender: senderOf(author),
    text,
    isForwarded: message.message_snapshots.length > 0,
    quoted: quotedIn(message),
    replaces: edited === null ? undefined : message.id,
    unreadable: isSticker ? 'sticker' : undefined,
    files: message.attachments.map(({ id, filename, size }) => ({
      name: fileName(filename),
      sizeBytes: size ?? null,
      reference: `${message.channel_id}/${message.id}/${id}`,
    })),
    isGroup,
    isAddressed: !isGroup || isMeant(message, botId),
  };
}

/** A pressed button, as a message. */
export function pressed(interaction: DiscordInteraction, value: string | undefined): Incoming | undefined {
  const { id, channel_id: address, guild_id: guild, user, member } = interaction;
  const person = member?.user ?? user;
  if (value === undefined || address === undefined || person === undefined) return undefined;
  return {
    channel: 'discord',
    address,
    id: `button/${id}`,
    sender: senderOf(person),
    text: value,
    files: [],
    isGroup: guild !== undefined,
    isAddressed: true,
  };
}

function quotedIn({ referenced_message: answered }: DiscordMessage): Incoming['quoted'] {
  if (answered?.author === undefined || answered.content === '') return undefined;
  return { by: senderOf(answered.author).name, text: answered.content };
}

function textOf({ content, message_snapshots: forwarded }: DiscordMessage, botId: string): string {
  const own = content.replaceAll(new RegExp(`<@!?${botId}>`, 'g'), '').trim();
  return [own, ...forwarded.map(({ message }) => message.content ?? '')].filter(Boolean).join('\n\n');
}

function isMeant({ mentions, referenced_message: answered }: DiscordMessage, botId: string): boolean {
  return mentions.some(({ id }) => id === botId) || answered?.author?.id === botId;
}

function senderOf({ id, global_name: shown, username }: z.infer<typeof userSchema>) {
  return { id, name: personName(shown ?? username, id) };
}
