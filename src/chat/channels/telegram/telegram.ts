import type { TelegramAdapter } from '@chat-adapter/telegram';
import type { Channel, Incoming, Outgoing, SendResult } from '../../../core/channel.ts';
import { reasonOf } from '../../../core/errors.ts';
import type { Log } from '../../../core/log.ts';
import { adapterLog } from '../adapter-log.ts';
import { cardOf } from '../card.ts';
import { ChannelHealth } from '../channel-health.ts';
import { fetchNamed, type IncomingFile } from '../download.ts';
import { type FailedSend, sendFailure } from '../send-result.ts';
import { ShortLived } from '../short-lived.ts';
import { type BotApi, botApi } from './bot-api.ts';
import { poll } from './poller.ts';
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
/** An adapter remembers every message that passes through it, and sorts them anew with each. */
const adapterUses = 500;

/** A bot on Telegram, by long polling. The adapter of the Chat SDK reads and writes messages; the transport is ours. */
export async function openTelegram(options: TelegramOptions): Promise<Channel> {
  // Loaded only where a bot is configured.
  const { createTelegramAdapter } = await import('@chat-adapter/telegram');
  const newAdapter = () =>
    createTelegramAdapter({
      botToken: options.token,
      apiUrl: options.apiUrl,
      mode: 'webhook',
      allowUnverifiedWebhooks: true,
      logger: adapterLog(options.log),
    });
  return new Telegram(newAdapter, options);
}

class Telegram implements Channel {
  readonly name = 'telegram';
  readonly longestText = longestText;
  readonly #adapters: ShortLived<TelegramAdapter>;
  readonly #api: BotApi;
  readonly #options: TelegramOptions;
  readonly #health = new ChannelHealth(this.name);
  readonly #closing = new AbortController();
  #polling: Promise<void> | undefined;

  constructor(newAdapter: () => TelegramAdapter, options: TelegramOptions) {
    this.#adapters = new ShortLived(newAdapter, adapterUses);
    this.#options = options;
    this.#api = botApi(options.apiUrl, options.token);
  }

  get status() {
    return this.#health.status;
  }

  editEveryMs(address: string): number {
    // The numbers of groups are negative.
    return this.#options.editEveryMs ?? (address.startsWith('-') ? groupEditMs : privateEditMs);
  }

  start(receive: (incoming: Incoming) => Promise<void>): void {
    const { pollMs = 25_000, log } = this.#options;
    const take = (bot: Bot, update: Update) => this.#take(bot, update, receive);
    const { changed } = this.#health;
    this.#polling ??= poll({ api: this.#api, pollMs, take, changed, log }, this.#closing.signal);
  }

  async send(address: string, outgoing: Outgoing): Promise<SendResult> {
    try {
      return await this.#post(`telegram:${address}`, outgoing);
    } catch (error) {
      const failure = sendFailure('Telegram', error);
      if (outgoing.edits === undefined) return this.#failed(failure);
      if (isUnchanged(error)) return { outcome: 'sent', platformId: outgoing.edits };
      // The message to edit is gone: the person removed it, perhaps. What it should say is sent anew.
      if (failure.outcome === 'refused')
        return this.send(address, { text: outgoing.text, buttons: outgoing.buttons });
      return this.#failed(failure);
    }
  }

  async typing(address: string): Promise<void> {
    await this.#adapters.one.startTyping(`telegram:${address}`).catch(() => {});
  }

  fetchFile(file: IncomingFile, mostBytes: number): Promise<Uint8Array> {
    const fetchMetadata = { fileId: file.reference };
    const found = this.#adapters.one.rehydrateAttachment({ type: 'file', fetchMetadata });
    return fetchNamed(file, mostBytes, async () => new Uint8Array((await found.fetchData?.()) ?? []));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#polling;
    this.#health.changed({ state: 'stopped' });
  }

  async #take(bot: Bot, update: Update, receive: (incoming: Incoming) => Promise<void>): Promise<void> {
    const incoming = incomingOf(this.#adapters.one, bot, update);
    const { groups } = this.#options;
    if (incoming !== undefined && !(incoming.isGroup && groups === 'off')) {
      this.#health.heard();
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
        ? this.#adapters.one.postMessage(thread, message)
        : this.#adapters.one.editMessage(thread, edits, message);
    const { id } = await within(posting);
    return { outcome: 'sent', platformId: id };
  }

  #failed(failure: FailedSend): SendResult {
    this.#health.failed(failure.error.message);
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
