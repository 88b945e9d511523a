import { type Cancel, cancelled, onAbort } from '../base/cancel.ts';
import { reasonOf } from '../base/errors.ts';
import type { Sandbox } from '../seams/sandbox.ts';

/** Demand is the number of claims within about the time that creating a sandbox takes. */
const demandMs = 1_000;
const firstRetryMs = 1_000;
const longestRetryMs = 60_000;

/** Sandboxes with the same fixed settings. */
export interface Kind {
  /** Equal for sandboxes with the same settings. */
  readonly key: string;
  /** For display: the runtime and the image. */
  readonly title: string;
  open(): Promise<Sandbox>;
}

interface Wait {
  readonly count: number;
  readonly totalMs: number;
  readonly longestMs: number;
}

const noWait: Wait = { count: 0, totalMs: 0, longestMs: 0 };

export interface StockMetrics {
  readonly title: string;
  readonly ready: number;
  readonly making: number;
  readonly waiting: number;
  readonly target: number;
  /** Claims that found a ready sandbox, and how long they took. */
  readonly hits: Wait;
  /** Claims that waited for a new sandbox. */
  readonly misses: Wait;
  /** Sandboxes found dead when they were needed. */
  readonly discarded: number;
  /** Why the last creation failed, if it did. */
  readonly failure: string | null;
}

/** The stock of one kind, and the record of its demand. */
export class Stock {
  readonly kind: Kind;
  readonly ready: Sandbox[] = [];
  making = 0;
  /** More were reserved by name than the demand requires. */
  reserved = 0;
  discarded = 0;
  lastUsed = performance.now();
  #failures = 0;
  #failure: unknown;
  #retryAt = 0;
  readonly #waiting: PromiseWithResolvers<Sandbox>[] = [];
  readonly #claims: number[] = [];
  #hits = noWait;
  #misses = noWait;
  #peak = 0;
  #peakBefore = 0;

  constructor(kind: Kind) {
    this.kind = kind;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** How many were in demand at once, counted over this period and the previous one. */
  get demand(): number {
    return Math.max(this.#peak, this.#peakBefore);
  }

  /** After a failure, the earliest time to create another for the stock. */
  get retryAt(): number {
    return this.#retryAt;
  }

  /** Why the last creation failed, if it did. */
  get failure(): unknown {
    return this.#failure;
  }

  noteMade(): void {
    this.#failures = 0;
    this.#failure = undefined;
    this.#retryAt = 0;
  }

  noteFailure(error: unknown): void {
    this.#failures += 1;
    this.#failure = error;
    this.#retryAt = performance.now() + Math.min(firstRetryMs * 2 ** (this.#failures - 1), longestRetryMs);
  }

  noteClaim(now = performance.now()): void {
    this.lastUsed = now;
    this.#claims.push(now);
    while ((this.#claims[0] ?? now) < now - demandMs) this.#claims.shift();
    this.#peak = Math.max(this.#peak, this.#claims.length);
  }

  endPeriod(): void {
    this.#peakBefore = this.#peak;
    this.#peak = 0;
  }

  noteServed(warm: boolean, ms: number): void {
    const { count, totalMs, longestMs } = warm ? this.#hits : this.#misses;
    const wait = { count: count + 1, totalMs: totalMs + ms, longestMs: Math.max(longestMs, ms) };
    if (warm) this.#hits = wait;
    else this.#misses = wait;
  }

  /** The next sandbox created, first come, first served. */
  async next({ signal }: Cancel): Promise<Sandbox> {
    const waiter = Promise.withResolvers<Sandbox>();
    this.#waiting.push(waiter);
    const cancel = () => {
      const at = this.#waiting.indexOf(waiter);
      if (at >= 0) this.#waiting.splice(at, 1);
      waiter.reject(cancelled('Opening a sandbox', signal?.reason));
    };
    using _watching = onAbort(signal, cancel);
    return await waiter.promise;
  }

  /** Returns false if nobody waits for it. */
  serve(sandbox: Sandbox): boolean {
    const waiter = this.#waiting.shift();
    waiter?.resolve(sandbox);
    return waiter !== undefined;
  }

  /** Gives the error to the caller that has waited longest. Returns false if nobody waits. */
  refuse(error: unknown): boolean {
    const waiter = this.#waiting.shift();
    waiter?.reject(error);
    return waiter !== undefined;
  }

  metrics(target: number): StockMetrics {
    const { kind, ready, making, waiting, discarded } = this;
    return {
      title: kind.title,
      ready: ready.length,
      making,
      waiting,
      target,
      hits: this.#hits,
      misses: this.#misses,
      discarded,
      failure: this.#failure === undefined ? null : reasonOf(this.#failure),
    };
  }
}
