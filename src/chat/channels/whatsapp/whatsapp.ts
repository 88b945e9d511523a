import { setTimeout as delay } from 'node:timers/promises';
import type { WhatsAppAdapter } from '@chat-adapter/whatsapp';
import { z } from 'zod';
import { GeodeError } from '../../../base/errors.ts';
import type { Log } from '../../../base/log.ts';
import type { Channel, Closed, Incoming, Outgoing, SendResult, Webhook } from '../../../seams/channel.ts';
import { adapterLog } from '../adapter-log.ts';
import { ChannelHealth } from '../channel-health.ts';
import { downloadFile, fetchNamed, type IncomingFile } from '../download.ts';
import { keepConnected } from '../keep-connected.ts';
import { PlatformError } from '../platform-error.ts';
import { sendFailure } from '../send-result.ts';
import { type Graph, graph } from './graph.ts';
import { incomingOf } from './messages.ts';
import { type WhatsAppChange, whatsAppWebhook } from './webhook.ts';

export interface WhatsAppOptions {
  readonly token: string;
  readonly appSecret: string;
  readonly verifyToken: string;
  /** Meta's id of the bot's number, not the number itself. */
  readonly phoneNumberId: string;
  readonly apiUrl: string;
  readonly log: Log;
  /** Interval of checks that the token is still valid. */
  readonly checkEveryMs?: number;
}

type Receive = (incoming: Incoming) => Promise<void>;
type Buttons = NonNullable<Outgoing['buttons']>;

/** WhatsApp takes 4096 characters; its marks may lengthen a text. */
const longestText = 3_000;
const mostOnWire = 4_096;
const usualCheckMs = 300_000;
const mostRemembered = 1_000;
/** Meta's code for "the person has not written for a day". */
const windowClosed = 131047;
const fileHosts = ['lookaside.fbsbx.com', 'fbcdn.net', 'whatsapp.net'];
/**
 * A message has at most three buttons of 20 characters and 1024 of text; a list has ten entries of 24 and 4096 of
 * text.
 */
const buttonLimits = { count: 3, label: 20, text: 1_024 };
const listLimits = { label: 24 };

/** A number on WhatsApp's Cloud API. The Chat SDK reads; the webhook, the calls and the rendering are Geode's own. */
export async function openWhatsApp(options: WhatsAppOptions): Promise<Channel> {
  // Loaded only where a number is configured.
  const [{ createWhatsAppAdapter }, { whatsAppText }] = await Promise.all([
    import('@chat-adapter/whatsapp'),
    import('./render.ts'),
  ]);
  const { token, appSecret, verifyToken, phoneNumberId, log } = options;
  const adapter = createWhatsAppAdapter({
    accessToken: token,
    appSecret,
    verifyToken,
    phoneNumberId,
    userName: 'geode',
    logger: adapterLog(log),
  });
  return new WhatsApp(adapter, whatsAppText, options);
}

class WhatsApp implements Channel {
  readonly name = 'whatsapp';
  readonly longestText = longestText;
  readonly webhook: Webhook;
  readonly #adapter: WhatsAppAdapter;
  readonly #render: (markdown: string) => string;
  readonly #options: WhatsAppOptions;
  readonly #graph: Graph;
  readonly #health = new ChannelHealth(this.name);
  readonly #closing = new AbortController();
  /** The last message of each person, for the typing indicator. */
  readonly #lastHeard = new Map<string, string>();
  #receive: Receive | undefined;
  #closed: Closed | undefined;
  #checking: Promise<void> | undefined;

  constructor(adapter: WhatsAppAdapter, render: (markdown: string) => string, options: WhatsAppOptions) {
    this.#adapter = adapter;
    this.#render = render;
    this.#options = options;
    this.#graph = graph(options.apiUrl, options.token);
    const { appSecret, verifyToken, log } = options;
    this.webhook = whatsAppWebhook({ appSecret, verifyToken, log, take: (change) => this.#take(change) });
  }

  get status() {
    return this.#health.status;
  }

  /** Messages on WhatsApp cannot be edited. */
  editEveryMs(): null {
    return null;
  }

  /** Meta calls Geode, so there is nothing to listen on. The only check possible here is whether the token is valid. */
  start(receive: Receive, closed: Closed): void {
    const { phoneNumberId, checkEveryMs = usualCheckMs, log } = this.#options;
    this.#receive = receive;
    this.#closed = closed;
    const connect = async (up: () => void, signal: AbortSignal) => {
      while (!signal.aborted) {
        await this.#graph.call('GET', `/${phoneNumberId}?fields=id`, { signal });
        up();
        await delay(checkEveryMs, undefined, { signal }).catch(() => {});
      }
    };
    this.#checking ??= keepConnected(
      { platform: 'WhatsApp', connect, changed: this.#health.changed, log },
      this.#closing.signal,
    );
  }

  async send(address: string, { text, buttons = [], file }: Outgoing): Promise<SendResult> {
    try {
      const content = file === undefined ? this.#content(text, buttons) : await this.#document(text, file);
      return { outcome: 'sent', platformId: await this.#post(address, content) };
    } catch (error) {
      const failure = sendFailure('WhatsApp', error);
      if (error instanceof PlatformError && error.code === windowClosed)
        return { ...failure, outcome: 'closed' };
      this.#health.failed(failure.error.message);
      return failure;
    }
  }

  async typing(address: string): Promise<void> {
    const message = this.#lastHeard.get(address);
    if (message === undefined) return;
    const json = {
      messaging_product: 'whatsapp',
      status: 'read',
      message_id: message,
      typing_indicator: { type: 'text' },
    };
    const path = `/${this.#options.phoneNumberId}/messages`;
    await this.#graph.call('POST', path, { json, timeoutMs: 5_000 }).catch(() => {});
  }

  fetchFile(file: IncomingFile, mostBytes: number): Promise<Uint8Array> {
    const { apiUrl, token } = this.#options;
    return fetchNamed(file, mostBytes, async () => {
      const path = `/${encodeURIComponent(file.reference)}`;
      const { url } = mediaSchema.parse(await this.#graph.call('GET', path));
      const headers = { authorization: `Bearer ${token}` };
      return downloadFile({ url, hosts: fileHosts, apiUrl, headers, mostBytes });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#checking;
    this.#receive = undefined;
    this.#health.changed({ state: 'stopped' });
  }

  async #post(to: string, content: object): Promise<string> {
    const json = { messaging_product: 'whatsapp', recipient_type: 'individual', to, ...content };
    const path = `/${this.#options.phoneNumberId}/messages`;
    const [message] = sentSchema.parse(await this.#graph.call('POST', path, { json })).messages;
    return message.id;
  }

  #content(markdown: string, buttons: Buttons): object {
    const rendered = this.#render(markdown);
    // WhatsApp refuses empty texts.
    const text = rendered.length > mostOnWire || rendered === '' ? markdown : rendered;
    if (buttons.length === 0) return { type: 'text', text: { preview_url: false, body: text } };
    const fits = buttons.length <= buttonLimits.count && text.length <= buttonLimits.text;
    return {
      type: 'interactive',
      interactive: { body: { text }, ...(fits ? asButtons(buttons) : asList(buttons)) },
    };
  }

  async #document(text: string, file: NonNullable<Outgoing['file']>): Promise<object> {
    const body = new FormData();
    body.append('messaging_product', 'whatsapp');
    body.append('type', 'application/octet-stream');
    body.append(
      'file',
      new Blob([new Uint8Array(file.bytes)], { type: 'application/octet-stream' }),
      file.name,
    );
    const uploaded = await this.#graph.call('POST', `/${this.#options.phoneNumberId}/media`, { body });
    const { id } = mediaIdSchema.parse(uploaded);
    return { type: 'document', document: { id, filename: file.name, caption: text.slice(0, 1_000) } };
  }

  async #take(change: WhatsAppChange): Promise<void> {
    if (change.metadata.phone_number_id !== this.#options.phoneNumberId) return;
    for (const status of change.statuses) await this.#look(status);
    for (const message of change.messages) {
      const incoming = incomingOf(this.#adapter, change, message);
      if (incoming === 'senseless') this.#options.log.warn('Skipped an invalid message from WhatsApp');
      else if (incoming !== undefined) await this.#receiveMessage(incoming);
    }
  }

  async #receiveMessage(incoming: Incoming): Promise<void> {
    // Meta repeats a call that is not answered with 200.
    if (this.#receive === undefined) throw new GeodeError('stopping', 'The channel is not open');
    this.#lastHeard.delete(incoming.address);
    this.#lastHeard.set(incoming.address, incoming.id);
    const [oldest] = this.#lastHeard.keys();
    if (this.#lastHeard.size > mostRemembered && oldest !== undefined) this.#lastHeard.delete(oldest);
    this.#health.received();
    await this.#receive(incoming);
  }

  /** Meta reports later that an accepted message did not arrive. */
  async #look(given: unknown): Promise<void> {
    const { data } = statusSchema.safeParse(given);
    if (data?.status !== 'failed') return;
    const [error] = data.errors;
    const reason = error?.title ?? 'no reason given';
    if (error?.code === windowClosed) await this.#closed?.(data.id, reason);
    this.#health.failed(`WhatsApp did not deliver a message: ${reason}`);
    this.#options.log.warn({ message: data.id }, `WhatsApp did not deliver a message: ${reason}`);
  }
}

const sentSchema = z.looseObject({
  messages: z.tuple([z.looseObject({ id: z.string() })]).rest(z.unknown()),
});
const mediaSchema = z.looseObject({ url: z.string() });
const mediaIdSchema = z.looseObject({ id: z.string() });
const statusSchema = z.looseObject({
  id: z.string(),
  status: z.string(),
  errors: z.array(z.looseObject({ title: z.string().optional(), code: z.number().optional() })).default([]),
});

function asButtons(buttons: Buttons): object {
  const made = buttons.map(({ label, value }) => ({
    type: 'reply',
    reply: { id: value, title: label.slice(0, buttonLimits.label) },
  }));
  return { type: 'button', action: { buttons: made } };
}

function asList(buttons: Buttons): object {
  const rows = buttons.map(({ label, value }) => ({ id: value, title: label.slice(0, listLimits.label) }));
  return { type: 'list', action: { button: 'Choose', sections: [{ title: 'Choose', rows }] } };
}
