/**
 * The one live connection of the page: events with their numbers, and what each sandbox uses. A connection that is lost
 * is opened again behind the last number, so nothing that the host keeps is missed.
 */
import { useSyncExternalStore } from 'react';
import { fromWire } from '../../src/contract/rename.ts';
import type { Usage } from '../../src/sandboxes/metrics.ts';
import type { HostEvent } from '../../src/seams/events.ts';
import { connect } from './api.ts';

type LiveState = 'connecting' | 'live' | 'reconnecting';

export interface Live {
  readonly state: LiveState;
  /** When the host is tried again. */
  readonly retryAt?: number;
  /** Newest first. */
  readonly events: readonly HostEvent[];
  /** By chat, oldest first. */
  readonly usage: ReadonlyMap<string, readonly Usage[]>;
}

const keptEvents = 500;
const keptUsage = 90;
const usageEveryMs = 2000;
const firstWaitMs = 300;
const longestWaitMs = 5000;

type Listener = (event: HostEvent | 'reset') => void;

class LiveConnection {
  #shown: Live = { state: 'connecting', events: [], usage: new Map() };
  #seq: number | undefined;
  #socket: WebSocket | undefined;
  #waitMs = firstWaitMs;
  #retry: ReturnType<typeof setTimeout> | undefined;
  readonly #viewers = new Set<() => void>();
  readonly #listeners = new Set<Listener>();
  #drawing = false;
  #next: Live = this.#shown;
  /** The figures as they come; what is shown is a copy. */
  readonly #usage = new Map<string, readonly Usage[]>();

  get shown(): Live {
    return this.#shown;
  }

  start(): void {
    if (this.#socket !== undefined) return;
    clearTimeout(this.#retry);
    const from = this.#seq === undefined ? 'last=200' : `after=${this.#seq}`;
    const socket = connect(`/api/v1/events?${from}&usage_ms=${usageEveryMs}`);
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#receive(data));
    socket.addEventListener('close', () => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      this.#show({ state: 'reconnecting', retryAt: Date.now() + this.#waitMs });
      this.#retry = setTimeout(() => this.start(), this.#waitMs);
      this.#waitMs = Math.min(this.#waitMs * 2, longestWaitMs);
    });
  }

  /** A laptop that wakes up waits for no timer. */
  hurry(): void {
    if (this.#socket !== undefined || this.#retry === undefined) return;
    this.#waitMs = firstWaitMs;
    this.start();
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  view = (viewer: () => void): (() => void) => {
    this.#viewers.add(viewer);
    return () => this.#viewers.delete(viewer);
  };

  #receive(data: unknown): void {
    if (typeof data !== 'string') return;
    const message: { readonly type: string; readonly seq?: number } = JSON.parse(data);
    if (message.type === 'ready') {
      const isAgain = this.#seq !== undefined;
      this.#seq ??= message.seq;
      this.#waitMs = firstWaitMs;
      this.#show({ state: 'live' });
      if (isAgain) this.#notify('reset');
    } else if (message.type === 'usage') {
      const { chat, ...usage } = fromWire(message) as unknown as Usage & { readonly chat: string };
      const before = this.#usage.get(chat) ?? [];
      this.#usage.set(chat, [...before, usage].slice(-keptUsage));
      this.#show({ usage: this.#usage });
    } else if (message.type === 'gap') {
      this.#seq = message.seq;
      this.#notify('reset');
    } else if (message.seq !== undefined) {
      this.#seq = message.seq;
      const event = fromWire(message) as unknown as HostEvent;
      this.#show({ events: [event, ...this.#next.events].slice(0, keptEvents) });
      this.#notify(event);
    }
  }

  #notify(event: HostEvent | 'reset'): void {
    for (const listener of this.#listeners) listener(event);
  }

  /** Many changes at once are one drawing. */
  #show(change: Partial<Live>): void {
    this.#next = { ...this.#next, ...change };
    if (this.#drawing) return;
    this.#drawing = true;
    setTimeout(() => {
      this.#drawing = false;
      const hasNewFigures = this.#next.usage === this.#usage;
      this.#shown = hasNewFigures ? { ...this.#next, usage: new Map(this.#usage) } : this.#next;
      this.#next = this.#shown;
      for (const viewer of this.#viewers) viewer();
    }, 50);
  }
}

export const live = new LiveConnection();

export function useLive(): Live {
  return useSyncExternalStore(live.view, () => live.shown);
}
