import { z } from 'zod';
import type { Log } from '../../../base/log.ts';
import type { Channel, Incoming, Outgoing, SendResult } from '../../../seams/channel.ts';
import { callPlatform } from '../call-platform.ts';
import { cardOf } from '../card.ts';
import { ChannelHealth } from '../channel-health.ts';
import type { ChannelMarks } from '../channel-marks.ts';
import { downloadFile, fetchNamed, type IncomingFile } from '../download.ts';
import { keepConnected } from '../keep-connected.ts';
import { personName } from '../names.ts';
import { PlatformError } from '../platform-error.ts';
import { sendFailure } from '../send-result.ts';
import {
  actionsSchema,
  commanded,
  commandSchema,
  incomingOf,
  messageSchema,
  placeIn,
  pressed,
  type SlackMessage,
} from './events.ts';
import { earlierTry, history, keyMark } from './history.ts';
import { socketMode } from './socket.ts';
import { type SlackApi, slackApi } from './web-api.ts';

export interface SlackOptions {
  /** `xoxb-…`: reads and writes. */
  readonly botToken: string;
  /** `xapp-…`: opens the socket. */
  readonly appToken: string;
  readonly apiUrl: string;
  readonly groups: 'addressed' | 'all' | 'off';
  /** Owned by the channel, which closes it. */
  readonly marks: ChannelMarks;
  readonly log: Log;
  /** Minimum time between two edits of one message. Slack allows about fifty a minute. */
  readonly editEveryMs?: number;
}

type Blocks = typeof import('@chat-adapter/slack/blocks');
type Receive = (incoming: Incoming) => Promise<void>;

/** A section with buttons takes 3000 characters, plain Markdown four times as many. */
const longestText = 2_900;
const usualEditMs = 1_500;
/** Number of places to check for missed messages. */
const mostPlaces = 200;
/** Geode's own messages can be found as long as Slack keeps them. */
const repeatMs = 24 * 3_600_000;
const fileHosts = ['slack.com', 'slack-files.com', 'slack-edge.com'];

/**
 * A Slack app in socket mode. The Chat SDK reads Slack's markup and builds blocks; the socket and the calls are
 * Geode's own.
 */
export async function openSlack(options: SlackOptions): Promise<Channel> {
  // Loaded only where an app is configured.
  return new Slack(await import('@chat-adapter/slack/blocks'), options);
}

class Slack implements Channel {
  readonly name = 'slack';
  readonly longestText = longestText;
  readonly repeatMs = repeatMs;
  readonly #blocks: Blocks;
  readonly #options: SlackOptions;
  readonly #bot: SlackApi;
  readonly #app: SlackApi;
  readonly #health = new ChannelHealth(this.name);
  readonly #closing = new AbortController();
  /** The last message at each address, for the typing indicator. */
  readonly #lastHeard = new Map<string, string>();
  readonly #names = new Map<string, string>();
  #showsTyping = true;
  #botUser = '';
  #listening: Promise<void> | undefined;

  constructor(blocks: Blocks, options: SlackOptions) {
    this.#blocks = blocks;
    this.#options = options;
    this.#bot = slackApi(options.apiUrl, options.botToken);
    this.#app = slackApi(options.apiUrl, options.appToken);
  }

  get status() {
    return this.#health.status;
  }

  editEveryMs(): number {
    return this.#options.editEveryMs ?? usualEditMs;
  }

  start(receive: Receive): void {
    const { log } = this.#options;
    const connect = async (up: () => void, signal: AbortSignal) => {
      // Check the bot token at the start, not with the first answer.
      this.#botUser = whoSchema.parse(await this.#bot.call('auth.test', {}, { signal })).user_id;
      await socketMode(
        {
          app: this.#app,
          began: (opened) => this.#catchUp(receive, opened),
          take: (kind, payload) => this.#take(kind, payload, receive),
          log,
        },
        up,
        signal,
      );
    };
    this.#listening ??= keepConnected(
      { platform: 'Slack', connect, changed: this.#health.changed, log },
      this.#closing.signal,
    );
  }

  async send(address: string, outgoing: Outgoing): Promise<SendResult> {
    const { edits, file, key, inDoubtSince } = outgoing;
    try {
      if (edits === undefined && inDoubtSince !== undefined && key !== undefined) {
        const earlier = await earlierTry(this.#bot, { address, key, since: inDoubtSince, file });
        if (earlier !== undefined) return earlier;
      }
      const platformId =
        file === undefined
          ? await this.#post(address, outgoing)
          : await this.#upload(address, outgoing.text, file);
      return { outcome: 'sent', platformId };
    } catch (error) {
      const failure = sendFailure('Slack', error);
      if (edits !== undefined && failure.outcome === 'refused') return { ...failure, outcome: 'gone' };
      this.#health.failed(failure.error.message);
      return failure;
    }
  }

  /** Slack shows it only for apps with the agent feature; for other apps, stop after the first refusal. */
  async typing(address: string): Promise<void> {
    const { channel, thread } = placeIn(address);
    const ts = thread ?? this.#lastHeard.get(address);
    if (ts === undefined || !this.#showsTyping) return;
    const given = { channel_id: channel, thread_ts: ts, status: 'is working…' };
    await this.#bot.call('assistant.threads.setStatus', given, { timeoutMs: 5_000 }).catch((error) => {
      if (error instanceof PlatformError && error.status === 400) this.#showsTyping = false;
    });
  }

  fetchFile(file: IncomingFile, mostBytes: number): Promise<Uint8Array> {
    const { apiUrl, botToken } = this.#options;
    return fetchNamed(file, mostBytes, async () => {
      const asked = new URLSearchParams({ file: file.reference });
      const { url_private: url } = fileSchema.parse(await this.#bot.call('files.info', asked)).file;
      const headers = { authorization: `Bearer ${botToken}` };
      return downloadFile({ url, hosts: fileHosts, apiUrl, headers, mostBytes });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#listening;
    this.#options.marks[Symbol.dispose]();
    this.#health.changed({ state: 'stopped' });
  }

  /** Unreadable history counts as empty. */
  async #missed(place: string, after: string, signal: AbortSignal) {
    try {
      return await history(this.#bot, place, { after, signal });
    } catch (error) {
      // The app is no longer a member, or may not read earlier messages.
      if (!(error instanceof PlatformError) || error.status !== 400) throw error;
      this.#options.log.warn({ err: error, place }, 'Missed messages on Slack cannot be read');
      return [];
    }
  }

  async #post(
    address: string,
    { text, buttons = [], edits, key, dropsButtons = false }: Outgoing,
  ): Promise<string> {
    const { channel, thread } = placeIn(address);
    const card = cardOf(quiet(text), buttons);
    const content =
      // Blocks stay in a message until others replace them.
      buttons.length === 0 && !dropsButtons
        ? { markdown_text: quiet(text) }
        : { text: this.#blocks.cardToFallbackText(card), blocks: this.#blocks.cardToBlockKit(card) };
    const answer =
      edits === undefined
        ? await this.#bot.call('chat.postMessage', {
            channel,
            ...(thread !== undefined && { thread_ts: thread }),
            unfurl_links: false,
            ...(key !== undefined && {
              metadata: { event_type: 'geode', event_payload: { key: keyMark(key) } },
            }),
            ...content,
          })
        : await this.#bot.call('chat.update', { channel, ts: edits, ...content });
    return sentSchema.parse(answer).ts;
  }

  /** Three calls: Slack names an upload URL, takes the bytes there, then shows the file. */
  async #upload(address: string, text: string, file: NonNullable<Outgoing['file']>): Promise<string> {
    const { channel, thread } = placeIn(address);
    const asked = new URLSearchParams({ filename: file.name, length: String(file.bytes.length) });
    const place = uploadSchema.parse(await this.#bot.call('files.getUploadURLExternal', asked));
    await callPlatform({
      platform: 'Slack',
      what: 'the bytes of a file',
      url: place.upload_url,
      method: 'POST',
      body: new Uint8Array(file.bytes),
      timeoutMs: 120_000,
    });
    await this.#bot.call('files.completeUploadExternal', {
      files: [{ id: place.file_id, title: file.name }],
      channel_id: channel,
      ...(thread !== undefined && { thread_ts: thread }),
      initial_comment: quiet(text),
    });
    return place.file_id;
  }

  async #take(kind: string, payload: unknown, receive: Receive): Promise<void> {
    if (kind === 'events_api') {
      const { data } = callbackSchema.safeParse(payload);
      const event = messageSchema.safeParse(data?.event);
      if (event.success) await this.#receive(event.data, receive);
      else if (ours.includes(String(data?.event.type))) this.#senseless(kind);
    } else if (kind === 'interactive') {
      const actions = actionsSchema.safeParse(payload);
      if (actions.success) await this.#pass(pressed(actions.data), receive);
      else this.#senseless(kind);
    } else if (kind === 'slash_commands') {
      const command = commandSchema.safeParse(payload);
      if (command.success) await this.#pass(commanded(command.data), receive);
      else this.#senseless(kind);
    }
  }

  #senseless(kind: string): void {
    this.#options.log.warn({ kind }, 'Skipped an invalid event from Slack');
  }

  async #receive(event: SlackMessage, receive: Receive): Promise<void> {
    const incoming = incomingOf(event, this.#botUser);
    if (incoming !== undefined) {
      this.#lastHeard.delete(incoming.address);
      this.#lastHeard.set(incoming.address, event.ts);
      const [oldest] = this.#lastHeard.keys();
      if (this.#lastHeard.size > mostPlaces && oldest !== undefined) this.#lastHeard.delete(oldest);
    }
    if (incoming !== undefined) await this.#pass(await this.#named(incoming), receive);
    if (event.subtype !== 'message_changed') this.#options.marks.set(placeOf(event), event.ts);
  }

  /** Events identify people by ids. */
  async #named(incoming: Incoming): Promise<Incoming> {
    const { id, name } = incoming.sender;
    if (name !== id) return incoming;
    const known = this.#names.get(id) ?? (await this.#nameOf(id));
    this.#names.set(id, known);
    const [oldest] = this.#names.keys();
    if (this.#names.size > mostPlaces && oldest !== undefined) this.#names.delete(oldest);
    return { ...incoming, sender: { id, name: known } };
  }

  /** An app without permission to read profiles uses the ids as names. */
  async #nameOf(id: string): Promise<string> {
    const asked = new URLSearchParams({ user: id });
    const answer = await this.#bot.call('users.info', asked, { timeoutMs: 5_000 }).catch(() => undefined);
    const { data } = personSchema.safeParse(answer);
    const { display_name: shown, real_name: real } = data?.user.profile ?? {};
    return personName(shown || real || data?.user.name, id);
  }

  async #pass(incoming: Incoming | undefined, receive: Receive): Promise<void> {
    const { groups } = this.#options;
    if (incoming === undefined || (incoming.isGroup && groups === 'off')) return;
    this.#health.received();
    await receive(groups === 'all' ? { ...incoming, isAddressed: true } : incoming);
  }

  /** Reads messages that were sent while the channel was disconnected. A message received twice counts once. */
  async #catchUp(receive: Receive, signal: AbortSignal): Promise<void> {
    for (const { place, mark } of this.#options.marks.latest(mostPlaces)) {
      const { channel } = placeIn(place);
      for (const each of await this.#missed(place, mark, signal)) {
        const event = messageSchema.safeParse({ ...each, type: 'message', channel });
        if (event.success) await this.#receive(event.data, receive);
      }
    }
  }
}

const ours = ['message', 'app_mention'];
const whoSchema = z.looseObject({ user_id: z.string() });
const personSchema = z.looseObject({
  user: z.looseObject({
    name: z.string().optional(),
    profile: z
      .looseObject({ display_name: z.string().optional(), real_name: z.string().optional() })
      .optional(),
  }),
});
const sentSchema = z.looseObject({ ts: z.string() });
const uploadSchema = z.looseObject({ upload_url: z.string(), file_id: z.string() });
const fileSchema = z.looseObject({ file: z.looseObject({ url_private: z.string() }) });
const callbackSchema = z.looseObject({ event: z.looseObject({ type: z.string() }) });

function placeOf({ channel, thread_ts: thread }: SlackMessage): string {
  return thread === undefined ? channel : `${channel}/${thread}`;
}

/** Never notify people whom an agent mentions: `@channel` would alert everybody. */
function quiet(text: string): string {
  return text.replaceAll(/<(?=!(?:channel|here|everyone|subteam))/g, '<\u200b');
}
