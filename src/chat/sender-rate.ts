/** How many messages of one sender are taken: so many at once, and so many a minute. */
export class SenderRate {
  readonly #perMinute: number;
  readonly #now: () => number;
  readonly #buckets = new Map<string, { tokens: number; at: number }>();

  constructor(perMinute: number, now: () => number = Date.now) {
    this.#perMinute = perMinute;
    this.#now = now;
  }

  /** 0 when the message is taken; else how many ms the sender has to wait. */
  take(sender: string): number {
    const now = this.#now();
    const bucket = this.#buckets.get(sender) ?? { tokens: this.#perMinute, at: now };
    const perMs = this.#perMinute / 60_000;
    const tokens = Math.min(this.#perMinute, bucket.tokens + (now - bucket.at) * perMs);
    this.#buckets.delete(sender);
    this.#buckets.set(sender, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: now });
    this.#forgetOldest();
    return tokens >= 1 ? 0 : Math.ceil((1 - tokens) / perMs);
  }

  /** Many unknown senders must not fill the memory. */
  #forgetOldest(): void {
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > mostSenders && oldest !== undefined) this.#buckets.delete(oldest);
  }
}

const mostSenders = 10_000;
