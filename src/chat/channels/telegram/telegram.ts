import type { TelegramAdapter } from '@chat-adapter/telegram';
import type { CardElement } from 'chat';
import type { Channel, ChannelState, Incoming, Outgoing, SendResult } from '../../../core/channel.ts';
import { GeodeError, reasonOf } from '../../../core/errors.ts';
import type { Log } from '../../../core/log.ts';
import { type BotApi, botApi } from './bot-api.ts';
import { poll } from './poller.ts';
import { sendFailure } from './send-result.ts';
import { type Bot, incomingOf, type Update } from './updates.ts';

export interface TelegramOptions {
  readonly token: string;
  readonly apiUrl: string;
  readonly groups: 'addressed' | 'all' | 'off';
  readonly log: Log;
  /** How long the platform holds a request when nothing comes. */
  readonly pollMs?: number;
  /** Between two edits of one message; Telegram allows one a second, and fewer in groups. */
  readonly editEveryMs?: number;
}

/** Telegram takes 4096 characters; the adapter escapes what Telegram would misread, which may double them. */
const longestText = 2000;
const privateEditMs = 1_100;
const groupEditMs = 3_100;
const sendTimeoutMs = 60_000;

/** A bot on Telegram, by long polling. The adapter of the Chat SDK reads and writes messages; the transport is ours. */
export async function openTelegram(options: TelegramOptions): Promise<Channel> {
  // Loaded only where a bot is configured.
  const { createTelegramAdapter } = await import('@chat-adapter/telegram');
  const adapter = createTelegramAdapter({
    botToken: options.token,
    apiUrl: options.apiUrl,
    mode: 'webhook',
    allowUnverifiedWebhooks: true,
    logger: adapterLog(options.log),
  });
  return new Telegram(adapter, options);
}

class Telegram implements Channel {
  readonly name = 'telegram';
  readonly longestText = longestText;
  readonly #adapter: TelegramAdapter;
  readonly #api: BotApi;
  readonly #options: TelegramOptions;
  readonly #closing = new AbortController();
  #polling: Promise<void> | undefined;
  #state: ChannelState = { state: 'connecting' };
  #lastError: string | null = null;
  #lastMessageAt: number | null = null;

  constructor(adapter: TelegramAdapter, options: TelegramOptions) {
    this.#adapter = adapter;
    this.#options = options;
    this.#api = botApi(options.apiUrl, options.token);
  }

  get status() {
    const { state } = this.#state;
    const since = this.#state.state === 'deaf' ? this.#state.since : null;
    return {
      channel: this.name,
      state,
      since,
      lastError: this.#lastError,
      lastMessageAt: this.#lastMessageAt,
    };
  }

  editEveryMs(address: string): number {
    // The numbers of groups are negative.
    return this.#options.editEveryMs ?? (address.startsWith('-') ? groupEditMs : privateEditMs);
  }

  start(receive: (incoming: Incoming) => Promise<void>): void {
    const { pollMs = 25_000, log } = this.#options;
    const take = (bot: Bot, update: Update) => this.#take(bot, update, receive);
    const changed = (state: ChannelState) => {
      this.#state = state;
      if (state.state === 'deaf') this.#lastError = state.reason;
    };
    this.#polling ??= poll({ api: this.#api, pollMs, take, changed, log }, this.#closing.signal);
  }

  async send(address: string, outgoing: Outgoing): Promise<SendResult> {
    try {
      return await this.#post(`telegram:${address}`, outgoing);
    } catch (error) {
      const failure = sendFailure(error);
      if (outgoing.edits === undefined) return this.#failed(failure);
      if (isUnchanged(error)) return { outcome: 'sent', platformId: outgoing.edits };
      // The message to edit is gone: the person removed it, perhaps. What it should say is sent anew.
      if (failure.outcome === 'refused')
        return this.send(address, { text: outgoing.text, buttons: outgoing.buttons });
      return this.#failed(failure);
    }
  }

  async typing(address: string): Promise<void> {
    await this.#adapter.startTyping(`telegram:${address}`).catch(() => {});
  }

  async fetchFile({ reference, name, sizeBytes }: Incoming['files'][number], mostBytes: number) {
    const tooLarge = () => new GeodeError('too_large', `${name} is larger than ${mostBytes} bytes.`);
    if (sizeBytes !== null && sizeBytes > mostBytes) throw tooLarge();
    const file = this.#adapter.rehydrateAttachment({ type: 'file', fetchMetadata: { fileId: reference } });
    try {
      const bytes = new Uint8Array((await file.fetchData?.()) ?? []);
      if (bytes.length > mostBytes) throw tooLarge();
      return bytes;
    } catch (cause) {
      if (cause instanceof GeodeError) throw cause;
      throw new GeodeError('channel_failed', `${name} cannot be fetched: ${reasonOf(cause)}`, { cause });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#polling;
    this.#state = { state: 'stopped' };
  }

  async #take(bot: Bot, update: Update, receive: (incoming: Incoming) => Promise<void>): Promise<void> {
    const incoming = incomingOf(this.#adapter, bot, update);
    const { groups } = this.#options;
    if (incoming !== undefined && !(incoming.isGroup && groups === 'off')) {
      this.#lastMessageAt = Date.now();
      await receive(groups === 'all' ? { ...incoming, isAddressed: true } : incoming);
    }
    const button = update.callback_query;
    // Ends the little clock on the button. It is stored already, so nothing depends on this.
    if (button !== undefined)
      await this.#api
        .call('answerCallbackQuery', { callback_query_id: button.id }, { timeoutMs: 5_000 })
        .catch(() => {});
  }

  async #post(thread: string, { text, buttons = [], file, edits }: Outgoing): Promise<SendResult> {
    const plain = buttons.length === 0 ? { markdown: text } : { card: cardOf(text, buttons) };
    const message =
      file === undefined
        ? plain
        : { markdown: text, files: [{ filename: file.name, data: Buffer.from(file.bytes) }] };
    const posting =
      edits === undefined
        ? this.#adapter.postMessage(thread, message)
        : this.#adapter.editMessage(thread, edits, message);
    const { id } = await within(posting);
    return { outcome: 'sent', platformId: id };
  }

  #failed(failure: Exclude<SendResult, { readonly outcome: 'sent' }>): SendResult {
    this.#lastError = failure.error.message;
    return failure;
  }
}

/** The adapter itself waits for ever. */
async function within<T>(posting: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('Telegram did not answer in time')), sendTimeoutMs);
  try {
    return await Promise.race([posting, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Editing a message into what it is already is refused, and is what was wanted. */
function isUnchanged(error: unknown): boolean {
  return /message is not modified/i.test(reasonOf(error));
}

function cardOf(text: string, buttons: NonNullable<Outgoing['buttons']>): CardElement {
  return {
    type: 'card',
    children: [
      { type: 'text', content: text },
      {
        type: 'actions',
        children: buttons.map(({ label, value }) => ({ type: 'button', id: 'b', label, value })),
      },
    ],
  };
}

/** What the adapter has to say is rarely news to whoever runs this host. */
function adapterLog(log: Log) {
  const own = {
    debug: (message: string) => log.debug(message),
    info: (message: string) => log.debug(message),
    warn: (message: string) => log.debug(message),
    error: (message: string) => log.warn(message),
    child: () => own,
  };
  return own;
}
