import type { ChannelMarks } from '../channel-marks.ts';
import type { TelegramPlace } from './sender.ts';

/**
 * Groups that became supergroups. Telegram gives them a new id; the chat stays the same in Geode. The channel's marks
 * store the mapping.
 */
export class MovedGroups {
  readonly #marks: ChannelMarks;
  /** Current id by the group's first id. */
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

  /** The first known id of the chat, followed by the topic. */
  addressOf(chat: string, topic?: number): string {
    const [first = chat] = [...this.#moved].find(([, now]) => now === chat) ?? [];
    return topic === undefined ? first : `${first}:${topic}`;
  }

  /** The current address. */
  placeOf(address: string): TelegramPlace {
    const [first = '', topic] = address.split(':');
    return { chat: this.#moved.get(first) ?? first, topic };
  }
}

const mostMoved = 1_000;
