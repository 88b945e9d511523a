/** Rate limit of each sender: a burst, and an average per minute. */
export class SenderRate {
  readonly #perMinute: number;
  readonly #now: () => number;
  readonly #buckets = new Map<string, { tokens: number; at: number }>();

  constructor(perMinute: number, now: () => number = Date.now) {
    this.#perMinute = perMinute;
    this.#now = now;
  }

  /** Returns 0 if the message is accepted, otherwise the ms to wait. */
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

  /** Unknown senders must not fill the memory. */
  #forgetOldest(): void {
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > mostSenders && oldest !== undefined) this.#buckets.delete(oldest);
  }
}

const mostSenders = 10_000;
