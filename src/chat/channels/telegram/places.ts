import type { ChannelMarks } from '../channel-marks.ts';
import type { TelegramPlace } from './sender.ts';

/**
 * Groups that became supergroups: Telegram gives them another id, and for us the chat stays the one it was. The marks of
 * the channel keep which is which.
 */
export class Places {
  readonly #marks: ChannelMarks;
  /** By the id that a group had first: the id that it has now. */
  readonly #moved: Map<string, string>;

  constructor(marks: ChannelMarks) {
    this.#marks = marks;
    const known = marks.latest(mostMoved).map(({ place, mark }) => [place, mark] as const);
    this.#moved = new Map(known);
  }

  moved(from: string, to: string): void {
    const first = this.addressOf(from);
    if (first === to || this.#moved.get(first) === to) return;
    this.#marks.set(first, to);
    this.#moved.set(first, to);
  }

  /** As the chat was first known, with a topic behind it. */
  addressOf(chat: string, topic?: number): string {
    const [first = chat] = [...this.#moved].find(([, now]) => now === chat) ?? [];
    return topic === undefined ? first : `${first}:${topic}`;
  }

  /** Where it is now. */
  placeOf(address: string): TelegramPlace {
    const [first = '', topic] = address.split(':');
    return { chat: this.#moved.get(first) ?? first, topic };
  }
}

const mostMoved = 1_000;
