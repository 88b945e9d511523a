import { chatKey } from '../base/identity.ts';

/** Chats in which a turn, a screen or a copy is about to start: one at a time in each. */
export class StartingChats {
  readonly #starting = new Map<string, Promise<void>>();

  has(user: string, chat: string): boolean {
    return this.#starting.has(chatKey(user, chat));
  }

  /** Waits for the work in the chat, if there is any. Never throws. */
  async settled(user: string, chat: string): Promise<void> {
    await this.#starting.get(chatKey(user, chat));
  }

  async allSettled(): Promise<void> {
    await Promise.all(this.#starting.values());
  }

  reserve(user: string, chat: string, work: Promise<unknown>): void {
    const key = chatKey(user, chat);
    const settled = work.then(
      () => {},
      () => {},
    );
    this.#starting.set(key, settled);
    void settled.then(() => this.#starting.delete(key));
  }

  /** Concurrent callers get their turns one after another. */
  async alone<T>(user: string, chat: string, work: () => Promise<T>): Promise<T> {
    while (this.has(user, chat)) await this.settled(user, chat);
    const working = work();
    this.reserve(user, chat, working);
    return await working;
  }
}
