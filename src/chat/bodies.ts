/** The JSON bodies of messages and replies. */
import { z } from 'zod';
import type { BusMessage, BusReply, NewReply } from '../seams/bus.ts';
import { duringTurns } from '../seams/chat.ts';
import { type KnownChat, webChannel } from './chat-table.ts';

const fileSchema = z.object({ name: z.string(), sizeBytes: z.number().nullable(), reference: z.string() });

const messageSchema = z.object({
  channel: z.string(),
  address: z.string(),
  /** `channel` is where the sender wrote. It may be the web for a chat of another channel. */
  sender: z.object({ channel: z.string(), id: z.string(), name: z.string() }),
  text: z.string(),
  files: z.array(fileSchema),
  isGroup: z.boolean(),
  /** Forwarded: somebody else wrote the text. */
  isForwarded: z.boolean().default(false),
  quoted: z.object({ by: z.string(), text: z.string() }).nullable().default(null),
  /** The sender's choice for this message; missing: as the chat is set. */
  during: z.enum(duringTurns).optional(),
  /** The trace in which the message arrived, as W3C's `traceparent`. */
  trace: z.string().optional(),
});
export type MessageBody = z.infer<typeof messageSchema>;
/** The stored form. */
export type NewMessageBody = z.input<typeof messageSchema>;

const replySchema = z.object({
  address: z.string(),
  text: z.string(),
  answers: z.number().nullable(),
  isLast: z.boolean(),
  /** The reply gives a reason instead of an answer. */
  isFailure: z.boolean().default(false),
  buttons: z.array(z.object({ label: z.string(), value: z.string() })),
  /** A file of the chat's workspace, read when it is sent. */
  file: z.object({ user: z.string(), chat: z.string(), path: z.string() }).nullable(),
  edits: z.string().nullable(),
  /** If the message to edit was deleted, send nothing instead. */
  onlyEdits: z.boolean().default(false),
});
export type ReplyBody = z.infer<typeof replySchema>;

export function messageBody({ body }: Pick<BusMessage, 'body'>): MessageBody {
  return messageSchema.parse(JSON.parse(body));
}

export function replyBody({ body }: Pick<BusReply, 'body'>): ReplyBody {
  return replySchema.parse(JSON.parse(body));
}

/** The text for the agent: names the sender in a group, and marks forwarded and quoted text. */
export function textFor({ text, sender, isGroup, isForwarded, quoted }: MessageBody): string {
  const quote = quoted === null ? '' : `Reply to ${quoted.by}:\n${quotedLines(quoted.text)}\n\n`;
  const own = `${isForwarded ? 'Forwarded:\n' : ''}${text}`;
  return `${isGroup ? `[${sender.name}] ` : ''}${quote}${own}`;
}

const longestQuote = 4_000;

function quotedLines(text: string): string {
  return text
    .slice(0, longestQuote)
    .toWellFormed()
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n');
}

/** A reply to a chat, with defaults for missing fields. */
export function newReply(
  { channel, lane, address }: Pick<KnownChat, 'channel' | 'lane' | 'address'>,
  key: string,
  body: Partial<ReplyBody> & Pick<ReplyBody, 'text'>,
): NewReply {
  const whole: ReplyBody = {
    address,
    answers: null,
    isLast: false,
    isFailure: false,
    buttons: [],
    file: null,
    edits: null,
    onlyEdits: false,
    ...body,
  };
  // The web reads a reply from the record: nothing has to be sent.
  const isRepeatable = whole.edits !== null || channel === webChannel;
  return { channel, lane, key, body: JSON.stringify(whole), isRepeatable };
}
