import { z } from 'zod';
import { reasonOf } from '../../../base/errors.ts';
import type { Outgoing } from '../../../seams/channel.ts';
import { PlatformError } from '../platform-error.ts';
import type { BotApi } from './bot-api.ts';

/** A chat on Telegram and a topic in it. */
export interface TelegramPlace {
  readonly chat: string;
  readonly topic: string | undefined;
}

/** One form in which a text can be sent. */
interface Form {
  readonly method: 'sendRichMessage' | 'sendMessage' | 'editMessageText';
  readonly content: object;
}

const longestText = 4_096;
const longestCaption = 1_024;
const sendTimeoutMs = 60_000;
/** Delay before trying rich messages again on a server that does not support them. */
const richPauseMs = 3_600_000;

/** Sends messages in the first form that Telegram accepts: rich, MarkdownV2, plain text. */
export class TelegramSender {
  readonly #api: BotApi;
  readonly #render: (markdown: string) => string;
  #richFrom = 0;

  constructor(api: BotApi, render: (markdown: string) => string) {
    this.#api = api;
    this.#render = render;
  }

  /** Returns the id of the message. Throws Telegram's error for the last form. */
  async send(place: TelegramPlace, { text, buttons = [], file, edits }: Outgoing): Promise<string> {
    if (file !== undefined) return this.#document(place, text, file);
    const common = {
      ...(edits === undefined ? target(place) : { chat_id: place.chat, message_id: numberOf(edits) }),
      ...(buttons.length > 0 || edits !== undefined ? { reply_markup: keyboard(buttons) } : {}),
    };
    const forms = this.#forms(text, edits !== undefined);
    for (const [index, { method, content }] of forms.entries()) {
      try {
        const payload = { ...common, ...content };
        return idOf(await this.#api.call(method, payload, { timeoutMs: sendTimeoutMs }), edits);
      } catch (error) {
        if (isUnknownMethod(error)) this.#richFrom = Date.now() + richPauseMs;
        if (index === forms.length - 1 || !isOfForm(error)) throw error;
      }
    }
    throw new Error('The message has no form for Telegram');
  }

  #forms(text: string, isEdit: boolean): readonly Form[] {
    const rendered = this.#render(text);
    const method = isEdit ? 'editMessageText' : 'sendMessage';
    const isRich = Date.now() >= this.#richFrom;
    const fits = rendered.trim() !== '' && rendered.length <= longestText;
    return [
      ...(isRich
        ? [
            {
              method: isEdit ? method : 'sendRichMessage',
              content: { rich_message: { markdown: text } },
            } as const,
          ]
        : []),
      ...(fits ? [{ method, content: { text: rendered, parse_mode: 'MarkdownV2' } } as const] : []),
      { method, content: { text: text.slice(0, longestText) } },
    ];
  }

  async #document(place: TelegramPlace, text: string, file: NonNullable<Outgoing['file']>): Promise<string> {
    const form = new FormData();
    for (const [name, value] of Object.entries(target(place))) form.append(name, String(value));
    form.append('caption', text.slice(0, longestCaption));
    form.append('document', new Blob([new Uint8Array(file.bytes)]), file.name);
    return idOf(await this.#api.call('sendDocument', form, { timeoutMs: 2 * sendTimeoutMs }), undefined);
  }
}

export function target({ chat, topic }: TelegramPlace) {
  return { chat_id: chat, ...(topic !== undefined && { message_thread_id: Number(topic) }) };
}

/** Button data that the events can map back: at most 64 bytes. */
function keyboard(buttons: NonNullable<Outgoing['buttons']>) {
  const row = buttons.map(({ label, value }, index) => ({
    text: label,
    callback_data: `chat:${JSON.stringify({ a: `b${index}`, v: value })}`,
  }));
  return { inline_keyboard: row.length === 0 ? [] : [row] };
}

const messageSchema = z.looseObject({ message_id: z.number(), chat: z.looseObject({ id: z.number() }) });

function idOf(answer: unknown, edits: string | undefined): string {
  if (edits !== undefined) return edits;
  const { message_id: id, chat } = messageSchema.parse(answer);
  return `${chat.id}:${id}`;
}

function numberOf(messageId: string): number {
  return Number(messageId.split(':').at(-1));
}

/** This form was refused; the next one may work. */
function isOfForm(error: unknown): boolean {
  if (!(error instanceof PlatformError)) return false;
  return (
    isUnknownMethod(error) ||
    (error.status === 400 &&
      /can't parse|rich[ _]message|text is empty|text must be|too long/i.test(error.message))
  );
}

function isUnknownMethod(error: unknown): boolean {
  if (!(error instanceof PlatformError)) return false;
  return error.status === 404 || (error.status === 400 && /rich message is unsupported/i.test(error.message));
}

/** Telegram refuses an edit without changes. The message already has this text, so it is a success. */
export function isUnchanged(error: unknown): boolean {
  return /message is not modified/i.test(reasonOf(error));
}
