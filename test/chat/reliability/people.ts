import { setTimeout as delay } from 'node:timers/promises';
import type { BotMessage, TelegramServer } from '../../fixtures/telegram-server.ts';

export interface Question {
  readonly step: number;
  readonly person: number;
  readonly text: string;
}

/** `by hand`: the agent uses its sandbox. `slowly`: its answer grows before the eyes of the person. */
const manners = ['', '', '', ' by hand', '', '', '', '', '', ' slowly'] as const;

/** A person who gets no answer for this long writes again. */
const patienceMs = 30_000;
const mostOpen = 3;
/** Every so many messages are delivered twice by the platform. */
const deliveredTwice = 25;

/** People who write to the bot, each a few messages ahead of its answers; their secret is in all that they write. */
export class People {
  readonly ids: readonly number[];
  readonly questions = new Map<number, Question[]>();
  readonly #telegram: TelegramServer;
  readonly #total: number;
  readonly #answered = new Map<number, number>();
  readonly #wroteAt = new Map<number, number>();
  #written = 0;
  #mostWritten: number;
  #heard = 0;
  #read = 0;
  #growing: readonly BotMessage[] = [];

  constructor(telegram: TelegramServer, options: { readonly chats: number; readonly messages: number }) {
    this.#telegram = telegram;
    this.#total = options.messages;
    this.#mostWritten = options.messages;
    this.ids = Array.from({ length: options.chats }, (_, index) => 1000 + index);
    for (const id of this.ids) this.questions.set(id, []);
  }

  get written(): number {
    return this.#written;
  }

  /** Answers that they have read. */
  get heard(): number {
    this.#hear();
    return this.#heard;
  }

  /** From now on they write no more than this; without a number, all of it. */
  hold(most = this.#total): void {
    this.#mostWritten = most;
  }

  /** They have written all that they may. */
  get isHeld(): boolean {
    return this.#written >= this.#mostWritten;
  }

  get isDone(): boolean {
    return this.#written >= this.#total;
  }

  /** Until all is written. Never waits for the gateway: people write whether it runs or not. */
  async write(signal: AbortSignal): Promise<void> {
    while (!this.isDone && !signal.aborted) {
      this.#hear();
      for (const id of this.ids) if (!this.isHeld && this.#wants(id)) this.#ask(id);
      await delay(20);
    }
  }

  #hear(): void {
    const fresh = this.#telegram.messages.slice(this.#read);
    this.#read += fresh.length;
    // Look again at replies that still grow.
    this.#growing = [...this.#growing, ...fresh].filter((message) => !this.#understood(message));
  }

  #understood({ chat, text }: BotMessage): boolean {
    const questions = this.questions.get(chat) ?? [];
    const place = questions.findLastIndex((question) => text === answerTo(question.text));
    if (place < 0) return !text.startsWith('Answer');
    this.#heard += 1;
    this.#answered.set(chat, Math.max(this.#answered.get(chat) ?? 0, place + 1));
    return true;
  }

  #wants(id: number): boolean {
    const open = (this.questions.get(id)?.length ?? 0) - (this.#answered.get(id) ?? 0);
    return open < mostOpen || performance.now() - (this.#wroteAt.get(id) ?? 0) > patienceMs;
  }

  #ask(person: number): void {
    const step = this.#written;
    this.#written += 1;
    this.#wroteAt.set(person, performance.now());
    const manner = manners[step % manners.length] ?? '';
    const text = `question ${step} of person${person} with ${secretOf(person)}${manner}`;
    this.questions.get(person)?.push({ step, person, text });
    const message = this.#telegram.write(person, text);
    if (step % deliveredTwice === 0) this.#telegram.push({ message });
  }
}

export function secretOf(person: number): string {
  return `secret${person * 7919}`;
}

export function userOf(person: number): string {
  return `user-${person}`;
}

export function answerTo(question: string): string {
  return `Answer to ${question}`;
}

const secrets = /secret\d+/g;

/** Secrets in a text that are not the person's own. */
export function foreignSecrets(text: string, person: number): readonly string[] {
  return (text.match(secrets) ?? []).filter((each) => each !== secretOf(person));
}
