import type { TelegramAdapter } from '@chat-adapter/telegram';
import { reasonOf } from '../../../base/errors.ts';
import type { Log } from '../../../base/log.ts';
import type { Channel, Incoming, Outgoing, SendResult } from '../../../seams/channel.ts';
import { commandMenu } from '../../commands.ts';
import { adapterLog } from '../adapter-log.ts';
import { ChannelHealth } from '../channel-health.ts';
import type { ChannelMarks } from '../channel-marks.ts';
import { fetchNamed, type IncomingFile } from '../download.ts';
import { keepConnected } from '../keep-connected.ts';
import { sendFailure } from '../send-result.ts';
import { ShortLived } from '../short-lived.ts';
import { type BotApi, botApi, MovedError } from './bot-api.ts';
import { MovedGroups } from './places.ts';
import { polling } from './poller.ts';
import { isUnchanged, TelegramSender, target } from './sender.ts';
import { type Bot, incomingOf, movedIn, type Update } from './updates.ts';

export interface TelegramOptions {
  readonly token: string;
  readonly apiUrl: string;
  readonly groups: 'addressed' | 'all' | 'off';
  /** Owned by the channel, which closes it. */
  readonly marks: ChannelMarks;
  readonly log: Log;
  /** How long the platform holds a request open when there are no updates. */
  readonly pollMs?: number;
  /** Minimum time between two edits of one message. Telegram allows one a second, fewer in groups. */
  readonly editEveryMs?: number;
}

/** Telegram takes 4096 characters; escaping in the adapter may double the length. */
const longestText = 2000;
/** Maximum length of a command in the menu. */
const longestDescription = 256;
const privateEditMs = 1_100;
const groupEditMs = 3_100;
/** The adapter stores every message that passes through it, and sorts all of them for each new one. */
const adapterUses = 500;

/**
 * A bot on Telegram, by long polling. The Chat SDK reads messages and renders MarkdownV2; the calls are Geode's own.
 */
export async function openTelegram(options: TelegramOptions): Promise<Channel> {
  // Loaded only where a bot is configured.
  const { createTelegramAdapter, TelegramFormatConverter } = await import('@chat-adapter/telegram');
  const converter = new TelegramFormatConverter();
  const newAdapter = () =>
    createTelegramAdapter({
      botToken: options.token,
      apiUrl: options.apiUrl,
      mode: 'webhook',
      allowUnverifiedWebhooks: true,
      logger: adapterLog(options.log),
    });
  return new Telegram(newAdapter, (markdown) => converter.renderPostable({ markdown }), options);
}

class Telegram implements Channel {
  readonly name = 'telegram';
  readonly longestText = longestText;
  readonly #adapters: ShortLived<TelegramAdapter>;
  readonly #api: BotApi;
  readonly #places: MovedGroups;
  readonly #sender: TelegramSender;
  readonly #options: TelegramOptions;
  readonly #health = new ChannelHealth(this.name);
  readonly #closing = new AbortController();
  #polling: Promise<void> | undefined;

  constructor(
    newAdapter: () => TelegramAdapter,
    render: (markdown: string) => string,
    options: TelegramOptions,
  ) {
    this.#adapters = new ShortLived(newAdapter, adapterUses);
    this.#options = options;
    this.#api = botApi(options.apiUrl, options.token);
    this.#places = new MovedGroups(options.marks);
    this.#sender = new TelegramSender(this.#api, render);
  }

  get status() {
    return this.#health.status;
  }

  editEveryMs(address: string): number {
    // Group ids are negative.
    return this.#options.editEveryMs ?? (address.startsWith('-') ? groupEditMs : privateEditMs);
  }

  start(receive: (incoming: Incoming) => Promise<void>): void {
    const { pollMs = 25_000, log } = this.#options;
    const take = (bot: Bot, update: Update) => this.#take(bot, update, receive);
    const { changed } = this.#health;
    const commands = commandMenu().map(({ command, description }) => ({
      command,
      description: description.slice(0, longestDescription),
    }));
    const connect = polling({ api: this.#api, pollMs, commands, take, changed, log });
    this.#polling ??= keepConnected({ platform: 'Telegram', connect, changed, log }, this.#closing.signal);
  }

  async send(address: string, outgoing: Outgoing): Promise<SendResult> {
    const place = this.#places.placeOf(address);
    try {
      return { outcome: 'sent', platformId: await this.#sender.send(place, outgoing) };
    } catch (error) {
      const { edits } = outgoing;
      if (edits !== undefined && isUnchanged(error)) return { outcome: 'sent', platformId: edits };
      if (error instanceof MovedError) {
        // An update may have reported the migration during the send.
        this.#places.moved(place.chat, error.to);
        if (this.#places.placeOf(address).chat !== place.chat) return this.send(address, outgoing);
      }
      // The topic was deleted: write outside of the topics.
      if (place.topic !== undefined && /thread not found/i.test(reasonOf(error)))
        return this.send(this.#places.addressOf(place.chat), outgoing);
      const failure = sendFailure('Telegram', error);
      // The message to edit was deleted, perhaps by the person.
      if (edits !== undefined && failure.outcome === 'refused') return { ...failure, outcome: 'gone' };
      this.#health.failed(failure.error.message);
      return failure;
    }
  }

  async typing(address: string): Promise<void> {
    const payload = { ...target(this.#places.placeOf(address)), action: 'typing' };
    await this.#api.call('sendChatAction', payload, { timeoutMs: 5_000 }).catch(() => {});
  }

  fetchFile(file: IncomingFile, mostBytes: number): Promise<Uint8Array> {
    const fetchMetadata = { fileId: file.reference };
    const found = this.#adapters.one.rehydrateAttachment({ type: 'file', fetchMetadata });
    return fetchNamed(file, mostBytes, async () => new Uint8Array((await found.fetchData?.()) ?? []));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#polling;
    this.#options.marks[Symbol.dispose]();
    this.#health.changed({ state: 'stopped' });
  }

  /** Skip an update that cannot be read: otherwise Telegram would send it forever and nothing after it. */
  #read(bot: Bot, update: Update): Incoming | undefined {
    try {
      return incomingOf(this.#adapters.one, this.#places, bot, update);
    } catch (err) {
      const { log } = this.#options;
      log.warn(
        { err, update: update.update_id },
        `Skipped an unreadable update from Telegram: ${reasonOf(err)}`,
      );
      return undefined;
    }
  }

  async #take(bot: Bot, update: Update, receive: (incoming: Incoming) => Promise<void>): Promise<void> {
    const moved = movedIn(update);
    if (moved !== undefined) this.#places.moved(moved.from, moved.to);
    const { groups } = this.#options;
    const incoming = this.#read(bot, update);
    if (incoming !== undefined && !(incoming.isGroup && groups === 'off')) {
      this.#health.received();
      await receive(groups === 'all' ? { ...incoming, isAddressed: true } : incoming);
    }
    const button = update.callback_query;
    // Ends the progress display of the button. The press is stored, so nothing depends on this.
    if (button !== undefined)
      await this.#api
        .call('answerCallbackQuery', { callback_query_id: button.id }, { timeoutMs: 5_000 })
        .catch(() => {});
  }
}
