import { EventEmitter, on } from 'node:events';
import type { Cancel } from '../base/cancel.ts';
import type { Bus, LaneEntry } from '../seams/bus.ts';
import type { ChatEvent } from '../seams/chat.ts';
import { messageBody, replyBody } from './bodies.ts';

const pageSize = 256;
/** Notifies every reader of a lane that there may be new events. */
const look = Symbol('look');

/** Events of chats for readers: first the stored ones, then new ones as they happen. */
export class Feed {
  readonly #bus: Bus;
  readonly #live = new EventEmitter().setMaxListeners(0);

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  /** Only for current readers. */
  notify(lane: string, event: ChatEvent): void {
    this.#live.emit(lane, event);
  }

  async *read(
    lane: string,
    { after = 0, follow = true, signal }: { readonly after?: number; readonly follow?: boolean } & Cancel,
  ): AsyncGenerator<ChatEvent> {
    const ended = new AbortController();
    const until = signal === undefined ? ended.signal : AbortSignal.any([signal, ended.signal]);
    // Listen before the first query, so that no event in between is missed.
    const news = on(this.#live, lane, { signal: until });
    using _changes = this.#bus.onChange(() => this.#live.emit(lane, look));
    let last = after;
    try {
      for (;;) {
        const page = await this.#bus.read(lane, { after: last, limit: pageSize });
        for (const entry of page) {
          last = entry.seq;
          yield eventOf(entry);
        }
        if (page.length === pageSize) continue;
        if (!follow || signal?.aborted) return;
        for (;;) {
          const [event] = (await news.next()).value ?? [look];
          if (event === look) break;
          yield event;
        }
      }
    } catch (error) {
      if (!signal?.aborted) throw error;
    } finally {
      ended.abort();
    }
  }
}

function eventOf(entry: LaneEntry): ChatEvent {
  const { seq, at } = entry;
  if (entry.type === 'message') {
    const { sender, text, files } = messageBody(entry.message);
    return {
      type: 'message',
      seq,
      at,
      id: entry.message.id,
      sender: sender.name,
      text,
      files: files.map(({ name }) => name),
    };
  }
  const { text, answers, isLast, isFailure, buttons, file } = replyBody(entry.reply);
  const { id, state } = entry.reply;
  const name = file?.path ?? null;
  return { type: 'reply', seq, at, id, answers, isLast, isFailure, text, buttons, file: name, state };
}
