import { EventEmitter, once } from 'node:events';
import { type Cancel, throwIfCancelled } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import type { AgentEvent } from '../seams/agent.ts';
import type { ConversationTable } from './conversation-table.ts';
import type { TurnTable } from './turn-table.ts';

const pageSize = 256;

export interface ReadOptions extends Cancel {
  readonly after?: number | undefined;
  readonly follow?: boolean | undefined;
}

/** The stored events of conversations, for any number of readers. */
export class EventFeed {
  readonly #conversations: ConversationTable;
  readonly #turns: TurnTable;
  readonly #ending: AbortSignal;
  readonly #news = new EventEmitter().setMaxListeners(0);

  constructor(conversations: ConversationTable, turns: TurnTable, ending: AbortSignal) {
    this.#conversations = conversations;
    this.#turns = turns;
    this.#ending = ending;
  }

  /** Wakes the readers of a conversation. */
  notify(conversation: number): void {
    this.#news.emit(String(conversation));
  }

  async *read(
    conversation: number,
    { after = 0, follow = false, signal }: ReadOptions,
  ): AsyncGenerator<AgentEvent> {
    throwIfCancelled(signal, 'Reading the events');
    if (follow) {
      yield* this.follow(conversation, after, signal);
      return;
    }
    for (let seq = after; ; ) {
      const page = this.#turns.events(conversation, seq, pageSize);
      yield* page;
      if (page.length < pageSize) return;
      seq = page.at(-1)?.seq ?? seq;
    }
  }

  /** Ends with `stopping` when the host ends, and with `cancelled` on the signal. */
  async *follow(
    conversation: number,
    after: number,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<AgentEvent> {
    let seq = after;
    const stop = AbortSignal.any([this.#ending, ...(signal === undefined ? [] : [signal])]);
    for (;;) {
      throwIfCancelled(signal, 'Reading the events');
      if (this.#ending.aborted)
        throw new GeodeError('stopping', 'The host is stopping; the next host continues the turn.');
      const page = this.#turns.events(conversation, seq, pageSize);
      for (const event of page) {
        seq = event.seq;
        yield event;
      }
      if (page.length > 0) continue;
      if (!this.#conversations.has(conversation)) return;
      // Nothing can happen between the check and the wait, because both are synchronous.
      await once(this.#news, String(conversation), { signal: stop }).catch(() => {});
    }
  }
}
