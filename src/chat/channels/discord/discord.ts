import { createHash } from 'node:crypto';
import { z } from 'zod';
import { reasonOf } from '../../../base/errors.ts';
import type { Log } from '../../../base/log.ts';
import type { Channel, Incoming, Outgoing, SendResult } from '../../../seams/channel.ts';
import { cardOf } from '../card.ts';
import { ChannelHealth } from '../channel-health.ts';
import type { ChannelMarks } from '../channel-marks.ts';
import { downloadFile, fetchNamed, type IncomingFile } from '../download.ts';
import { keepConnected } from '../keep-connected.ts';
import { PlatformError } from '../platform-error.ts';
import { sendFailure } from '../send-result.ts';
import { type DiscordMessage, incomingOf, interactionSchema, messageSchema, pressed } from './events.ts';
import { DiscordGateway } from './gateway.ts';
import { type DiscordRest, discordRest } from './rest.ts';
import { acceptedCommand, chosenCommand, listCommands } from './slash-commands.ts';

export interface DiscordOptions {
  readonly token: string;
  readonly apiUrl: string;
  readonly groups: 'addressed' | 'all' | 'off';
  /** Owned by the channel, which closes it. */
  readonly marks: ChannelMarks;
  readonly log: Log;
  /** Minimum time between two edits of one message. Discord allows five edits in five seconds. */
  readonly editEveryMs?: number;
}

type Adapter = typeof import('@chat-adapter/discord');
type Receive = (incoming: Incoming) => Promise<void>;

/** Discord takes 2000 characters; the renderer adds a few where it draws a table. */
const longestText = 1_800;
const mostOnWire = 2_000;
const usualEditMs = 1_200;
/** Discord remembers a nonce for a few minutes. */
const repeatMs = 120_000;
const intents = { guildMessages: 1 << 9, directMessages: 1 << 12, messageContent: 1 << 15 };
/** Number of places to check for missed messages, and the maximum to fetch from each. */
const mostPlaces = 200;
const pageSize = 100;
const mostPages = 10;
const fileHosts = ['cdn.discordapp.com', 'media.discordapp.net'];

/** A bot on Discord. The Chat SDK renders; gateway and calls are Geode's own. */
export async function openDiscord(options: DiscordOptions): Promise<Channel> {
  // Loaded only where a bot is configured.
  return new Discord(await import('@chat-adapter/discord'), options);
}

class Discord implements Channel {
  readonly name = 'discord';
  readonly longestText = longestText;
  readonly repeatMs = repeatMs;
  readonly #adapter: Adapter;
  readonly #options: DiscordOptions;
  readonly #rest: DiscordRest;
  readonly #render: (markdown: string) => string;
  readonly #health = new ChannelHealth(this.name);
  readonly #closing = new AbortController();
  #botId = '';
  #isListed = false;
  #listening: Promise<void> | undefined;

  constructor(adapter: Adapter, options: DiscordOptions) {
    this.#adapter = adapter;
    this.#options = options;
    this.#rest = discordRest(options.apiUrl, options.token);
    const converter = new adapter.DiscordFormatConverter();
    this.#render = (markdown) => converter.renderPostable({ markdown });
  }

  get status() {
    return this.#health.status;
  }

  editEveryMs(): number {
    return this.#options.editEveryMs ?? usualEditMs;
  }

  start(receive: Receive): void {
    const { token, groups, log } = this.#options;
    const gateway = new DiscordGateway({
      rest: this.#rest,
      token,
      // Without the last intent, Discord leaves out the text of messages to others, and needs no permission.
      intents:
        intents.guildMessages | intents.directMessages | (groups === 'all' ? intents.messageContent : 0),
      began: async ({ botId, application }, signal) => {
        this.#botId = botId;
        await this.#list(application, signal);
        await this.#catchUp(receive, signal);
      },
      take: ({ name, data }) => this.#take(name, data, receive),
      log,
    });
    const connect = gateway.connect.bind(gateway);
    this.#listening ??= keepConnected(
      { platform: 'Discord', connect, changed: this.#health.changed, log },
      this.#closing.signal,
    );
  }

  async send(address: string, outgoing: Outgoing): Promise<SendResult> {
    try {
      const path = `/channels/${encodeURIComponent(address)}/messages`;
      const { edits } = outgoing;
      const sent =
        edits === undefined
          ? await this.#rest.call('POST', path, this.#payload(outgoing))
          : await this.#rest.call('PATCH', `${path}/${encodeURIComponent(edits)}`, this.#payload(outgoing));
      return { outcome: 'sent', platformId: idSchema.parse(sent).id };
    } catch (error) {
      const failure = sendFailure('Discord', error);
      if (outgoing.edits !== undefined && failure.outcome === 'refused')
        return { ...failure, outcome: 'gone' };
      this.#health.failed(failure.error.message);
      return failure;
    }
  }

  async typing(address: string): Promise<void> {
    const path = `/channels/${encodeURIComponent(address)}/typing`;
    await this.#rest.call('POST', path, { timeoutMs: 5_000 }).catch(() => {});
  }

  /** Addresses of files are valid for a day, so each is requested when needed. */
  fetchFile(file: IncomingFile, mostBytes: number): Promise<Uint8Array> {
    return fetchNamed(file, mostBytes, async () => {
      const [channel = '', message = '', id] = file.reference.split('/');
      const path = `/channels/${encodeURIComponent(channel)}/messages/${encodeURIComponent(message)}`;
      const { attachments } = messageSchema.parse(await this.#rest.call('GET', path));
      const url = attachments.find((each) => each.id === id)?.url;
      if (url === undefined) throw new Error('the message no longer has it');
      return downloadFile({ url, hosts: fileHosts, apiUrl: this.#options.apiUrl, mostBytes });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#listening;
    this.#options.marks[Symbol.dispose]();
    this.#health.changed({ state: 'stopped' });
  }

  #payload({ text, buttons = [], file, edits, key }: Outgoing): { json: object } | { body: FormData } {
    const common = {
      // Never notify people whom an agent mentions.
      allowed_mentions: { parse: [] },
      // Discord shows two sends with the same nonce within a few minutes once.
      ...(key !== undefined && edits === undefined && { nonce: nonceOf(key), enforce_nonce: true }),
    };
    const rendered = this.#render(text);
    // Discord neither truncates text nor accepts empty text. If rendering fails either rule, send the text as
    // written.
    const content = rendered.length > mostOnWire || rendered.trim() === '' ? text : rendered;
    if (file !== undefined) {
      const body = new FormData();
      body.append('payload_json', JSON.stringify({ content, ...common }));
      body.append('files[0]', new Blob([new Uint8Array(file.bytes)]), file.name);
      return { body };
    }
    if (buttons.length === 0)
      return {
        json: { content, ...common, ...(edits !== undefined && { embeds: [], components: [] }) },
      };
    const card = this.#adapter.cardToDiscordPayload(cardOf(text, buttons));
    return { json: { content: '', ...common, ...card } };
  }

  async #take(name: string, data: unknown, receive: Receive): Promise<void> {
    if (name === 'MESSAGE_CREATE' || name === 'MESSAGE_UPDATE') {
      const message = messageSchema.safeParse(data);
      if (!message.success) return this.#senseless(name);
      // Discord also reports a change when it has added a preview.
      if (name === 'MESSAGE_UPDATE' && (message.data.edited_timestamp ?? null) === null) return;
      await this.#receive(message.data, receive);
      if (name === 'MESSAGE_CREATE') this.#options.marks.set(placeOf(message.data), message.data.id);
    } else if (name === 'INTERACTION_CREATE') {
      const interaction = interactionSchema.safeParse(data);
      if (!interaction.success) return this.#senseless(name);
      const { id, token, data: given } = interaction.data;
      const command = chosenCommand(interaction.data);
      const { value } = this.#adapter.decodeDiscordCustomId(given?.custom_id ?? '');
      await this.#pass(command ?? pressed(interaction.data, value), receive);
      const json = command === undefined ? { type: 6 } : acceptedCommand(command);
      // Ends the wait that the client shows. The message is stored already, so nothing depends on this.
      await this.#rest
        .call('POST', `/interactions/${id}/${token}/callback`, { json, timeoutMs: 5_000 })
        .catch(() => {});
    }
  }

  /** Commands work without the list too, so a refusal of it changes nothing. */
  async #list(application: string, signal: AbortSignal): Promise<void> {
    if (this.#isListed) return;
    this.#isListed = true;
    await listCommands(this.#rest, application, signal).catch((err) => {
      this.#options.log.warn({ err }, `Discord did not take the list of commands: ${reasonOf(err)}`);
    });
  }

  #senseless(name: string): void {
    this.#options.log.warn({ event: name }, 'Skipped an invalid event from Discord');
  }

  async #receive(message: DiscordMessage, receive: Receive): Promise<void> {
    await this.#pass(incomingOf(message, this.#botId), receive);
  }

  async #pass(incoming: Incoming | undefined, receive: Receive): Promise<void> {
    const { groups } = this.#options;
    if (incoming === undefined || (incoming.isGroup && groups === 'off')) return;
    this.#health.received();
    await receive(groups === 'all' ? { ...incoming, isAddressed: true } : incoming);
  }

  /** Reads messages that were sent while the channel was disconnected. A message received twice counts once. */
  async #catchUp(receive: Receive, signal: AbortSignal): Promise<void> {
    const { marks, log } = this.#options;
    for (const { place, mark } of marks.latest(mostPlaces)) {
      const { guild, channel } = placeIn(place);
      for (let after = mark, page = 0; page < mostPages; page += 1) {
        const path = `/channels/${channel}/messages?after=${after}&limit=${pageSize}`;
        const found = await this.#rest.call('GET', path, { signal }).catch((error) => {
          // The channel was deleted, or the bot was removed from it.
          if (!(error instanceof PlatformError) || ![403, 404].includes(error.status)) throw error;
          log.warn({ err: error, place }, 'Missed messages on Discord cannot be read');
          return [];
        });
        const missed = z.array(messageSchema).parse(found).toSorted(byAge);
        for (const message of missed)
          await this.#receive(guild === undefined ? message : { ...message, guild_id: guild }, receive);
        after = missed.at(-1)?.id ?? after;
        marks.set(place, after);
        if (missed.length < pageSize) break;
      }
    }
  }
}

/** History does not name the server. */
function placeOf({ guild_id: guild, channel_id: channel }: DiscordMessage): string {
  return `${guild ?? ''}/${channel}`;
}

function placeIn(place: string): { readonly guild: string | undefined; readonly channel: string } {
  const [guild = '', channel = ''] = place.split('/');
  return { guild: guild === '' ? undefined : guild, channel };
}

const idSchema = z.looseObject({ id: z.string() });

/** At most 25 characters. */
function nonceOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, 25);
}

/** Ids grow with time. */
function byAge(a: DiscordMessage, b: DiscordMessage): number {
  return a.id.length - b.id.length || (a.id < b.id ? -1 : 1);
}
