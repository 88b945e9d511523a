import { setTimeout as delay } from 'node:timers/promises';
import { GeodeError, isGeodeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { toWire } from '../contract/rename.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { EgressPolicy } from '../seams/egress.ts';
import { type Events, everyone, type HostEvent } from '../seams/events.ts';
import { type WebhookEvent, type Webhooks, webhookEvents } from '../seams/webhooks.ts';
import { type Bind, callWebhook, deliveryId, secretNameOf } from './call-webhook.ts';
import { newSigningSecret } from './signature.ts';
import { webhookAddress } from './webhook-address.ts';
import { type DueDelivery, WebhookTable } from './webhook-table.ts';

export interface WebhooksOptions {
  readonly ledger: Ledger;
  readonly events: Events;
  readonly log: Log;
  readonly bind: Bind;
  readonly secrets: {
    list(user: string): readonly { readonly name: string }[];
    set(user: string, name: string, value: string): void;
    remove(user: string, name: string): boolean;
  };
  /** Which addresses may be called: all public ones, those private ones, and none that is denied. */
  readonly allowed: EgressPolicy;
  readonly timeoutMs: number;
  /** Calls of one webhook that may wait; of more, the oldest are dropped. */
  readonly mostWaiting: number;
  /** False: only stores settings; the next host sends. */
  readonly sends: boolean;
}

const mostWebhooks = 16;
/** The pauses after failed attempts: the last attempt is about 22 hours after the first. */
const pausesMs = [1, 5, 30, 120, 600, 3_600, 10_800, 21_600, 43_200].map((seconds) => seconds * 1000);
/** How many events without a webhook may pass before the position is written. */
const writeEvery = 256;
const retryStoreMs = 5_000;
const longestTimerMs = 2 ** 31 - 1;
const gone = 410;

export function openWebhooks(options: WebhooksOptions): Webhooks & AsyncDisposable {
  const { ledger, events, secrets, allowed } = options;
  const table = new WebhookTable(ledger);
  const sender = new Sender(table, options);
  if (options.sends) sender.begin();
  return {
    list: (user) =>
      table.list(user).map(({ user: _, ...webhook }) => ({ ...webhook, secret: secretNameOf(webhook.name) })),
    set(user, name, { url, events: wanted = webhookEvents, enabled = true }) {
      const { url: address } = webhookAddress(url, allowed);
      const known = table.list(user);
      if (known.length >= mostWebhooks && !known.some((each) => each.name === name))
        throw new GeodeError('too_many_webhooks', `The user has ${mostWebhooks} webhooks, the maximum.`);
      const secret = secretNameOf(name);
      const hasSecret = secrets.list(user).some((each) => each.name === secret);
      const signingSecret = hasSecret ? null : newSigningSecret();
      const isNew = !known.some((each) => each.name === name);
      table.set({ user, name, url: address.href, events: wanted, enabled }, events.latest);
      // After the webhook: if the host is killed between them, the same call again makes and shows the secret.
      if (signingSecret !== null) secrets.set(user, secret, signingSecret);
      events.emit(user, { type: 'webhook-change', webhook: name, change: isNew ? 'created' : 'changed' });
      sender.wake();
      const made = table.list(user).find((each) => each.name === name);
      if (made === undefined) throw new GeodeError('internal', 'A webhook was not stored.');
      const { user: _, ...webhook } = made;
      return { ...webhook, secret, signingSecret };
    },
    remove(user, name) {
      if (!table.has(user, name)) return false;
      // Before the webhook, which is there to be removed again if the host is killed between them.
      secrets.remove(user, secretNameOf(name));
      table.remove(user, name);
      events.emit(user, { type: 'webhook-change', webhook: name, change: 'removed' });
      return true;
    },
    deliveries(user, name, limit) {
      if (!table.has(user, name))
        throw new GeodeError('webhook_not_found', `There is no webhook ${JSON.stringify(name)}.`);
      return table
        .deliveries(user, name, limit)
        .map(({ seq, ...delivery }) => ({ ...delivery, id: deliveryId({ user, name, seq }) }));
    },
    [Symbol.asyncDispose]: () => sender.end(),
  };
}

/** Stores the events of this host for webhooks, and makes the due calls: one at a time for each webhook. */
class Sender {
  readonly #table: WebhookTable;
  readonly #options: WebhooksOptions;
  readonly #ended = new AbortController();
  readonly #calls = new Map<string, Promise<void>>();
  #reading: Promise<void> | undefined;
  /** The number of the last event that was read. */
  #last: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(table: WebhookTable, options: WebhooksOptions) {
    this.#table = table;
    this.#options = options;
  }

  begin(): void {
    this.#reading = this.#read();
    this.wake();
  }

  async end(): Promise<void> {
    this.#ended.abort();
    clearTimeout(this.#timer);
    await Promise.all([this.#reading, ...this.#calls.values()]);
  }

  /** Until the end of the host. After a failure of the ledger it goes on where it was. */
  async #read(): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      try {
        await this.#readOn();
      } catch (error) {
        this.#options.log.warn({ err: error }, 'Webhooks could not read the events; trying again.');
        await pause(retryStoreMs, signal);
      }
    }
  }

  async #readOn(): Promise<void> {
    const { events, log } = this.#options;
    const { signal } = this.#ended;
    let last = this.#last ?? this.#table.position() ?? events.latest;
    let unwritten = 0;
    for await (const event of events.read(everyone, { after: last, signal })) {
      last = event.seq;
      this.#last = last;
      if (event.type === 'gap') log.warn('Webhooks miss events that were deleted before they were read.');
      const stored = isWanted(event) && (await this.#store(event));
      unwritten = stored ? 0 : unwritten + 1;
      if (stored) this.wake();
      else if (unwritten % writeEvery === 0) this.#quietly(() => this.#table.moveTo(last));
    }
    if (unwritten > 0) this.#quietly(() => this.#table.moveTo(last));
  }

  /** On a full disk it waits, because the events stay in the ledger. */
  async #store(event: HostEvent & { readonly type: WebhookEvent }): Promise<boolean> {
    const { seq, at, user, type, ...data } = event;
    const body = JSON.stringify({ type, timestamp: new Date(at).toISOString(), data: toWire(data) });
    while (!this.#ended.signal.aborted) {
      try {
        return this.#table.store({ seq, user, event: type, at, body }, this.#options.mostWaiting) > 0;
      } catch (error) {
        if (!isGeodeError(error)) throw error;
        this.#options.log.warn({ err: error }, 'An event was not stored for webhooks; trying again.');
        await pause(retryStoreMs, this.#ended.signal);
      }
    }
    return false;
  }

  /** Begins every due call, and wakes again for the next one. */
  wake(): void {
    if (!this.#options.sends || this.#ended.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#quietly(() => {
      const now = Date.now();
      for (const due of this.#table.due(now)) this.#begin(due);
      const next = this.#table.nextDue(now);
      if (next !== undefined) this.#wakeIn(next - now);
    });
  }

  #wakeIn(ms: number): void {
    this.#timer = setTimeout(() => this.wake(), Math.min(Math.max(ms, 1), longestTimerMs)).unref();
  }

  #begin(due: DueDelivery): void {
    const key = JSON.stringify([due.user, due.name]);
    if (this.#calls.has(key)) return;
    const call = this.#call(due).finally(() => {
      this.#calls.delete(key);
      this.wake();
    });
    this.#calls.set(key, call);
  }

  async #call(due: DueDelivery): Promise<void> {
    const { signal } = this.#ended;
    const { status, error } = await callWebhook(due, { ...this.#options, signal });
    // An attempt that the end of the host cut off does not count: the next host repeats it.
    if (signal.aborted && error !== null) return;
    const pauseMs = error === null || status === gone ? undefined : pausesMs[due.attempts];
    const state = error === null ? 'delivered' : pauseMs === undefined ? 'failed' : 'waiting';
    const nextAt = pauseMs === undefined ? null : Date.now() + pauseMs;
    try {
      this.#table.note(due, { state, nextAt, status, error });
      // Its address no longer exists.
      if (status === gone && this.#table.disable(due))
        this.#options.events.emit(due.user, {
          type: 'webhook-change',
          webhook: due.name,
          change: 'disabled',
        });
    } catch (thrown) {
      if (!isGeodeError(thrown)) throw thrown;
      this.#options.log.warn({ err: thrown }, `The webhook ${due.name} was called, which was not stored.`);
      await pause(retryStoreMs, signal);
    }
  }

  /** A ledger that fails now is tried again at the next event or call. */
  #quietly(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!isGeodeError(error)) throw error;
      this.#options.log.warn({ err: error }, `Webhooks: ${error.message}`);
      this.#wakeIn(retryStoreMs);
    }
  }
}

function isWanted(event: { readonly type: string }): event is HostEvent & { readonly type: WebhookEvent } {
  return webhookEvents.some((type) => type === event.type);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => {});
}
