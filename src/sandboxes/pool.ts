import { type Cancel, throwIfCancelled, within } from '../core/cancel.ts';
import { GeodeError } from '../core/errors.ts';
import type { Sandbox } from '../core/sandbox.ts';
import { Beacon } from './beacon.ts';
import { Endings } from './endings.ts';
import { Lull } from './lull.ts';
import { type Kind, Shelf, type ShelfMetrics } from './shelf.ts';

export interface PoolOptions {
  /** Kept ready of every kind that is in use. */
  readonly floor: number;
  /** Ready at once, of all kinds together; 0 keeps none. */
  readonly ceiling: number;
}

/** More at once for those who wait than for the stock. */
const makeAtOnce = { waiting: 4, stock: 2 } as const;
/** Enough for the next moment: as long as a shelf holds more, making waits for a quiet one. */
const lowStock = 8;
const healthDeadlineMs = 1_000;
/** How long closing waits for sandboxes that were given out; whoever keeps one longer has to end it. */
const claimsDeadlineMs = 10_000;
const periodMs = 60_000;
/** A kind that nobody asked for in that time is no longer in use. */
const idleMs = 10 * periodMs;

/** A sandbox that is one caller's, once. */
export interface Claim {
  readonly sandbox: Sandbox;
  /** It was ready before it was asked for. */
  readonly warm: boolean;
  /** It is the caller's for good: the pool has nothing to do with it any more. */
  keep(): void;
  /** Ends it; resolves when nothing is left of it. `now` does not wait for those that ended before it. */
  retire(pace?: 'now' | 'soon'): Promise<void>;
}

/**
 * Blank sandboxes with their link up, so that nobody waits for one to be made. A claimed one never comes
 * back: it is ended or kept, and another takes its place.
 */
export class Pool implements AsyncDisposable {
  readonly #options: PoolOptions;
  readonly #shelves = new Map<string, Shelf>();
  readonly #making = new Set<Promise<void>>();
  readonly #endings: Endings;
  readonly #made = new Beacon();
  readonly #sweep: NodeJS.Timeout;
  readonly #claims = new Set<Promise<void>>();
  readonly #lull = new Lull(() => this.#workOff());
  #closing: Promise<void> | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#endings = new Endings({
      busy: () => this.#closing === undefined && this.#lull.isWorthWaitingFor,
      mostWaiting: options.ceiling,
    });
    this.#sweep = setInterval(() => this.#endPeriod(), periodMs).unref();
  }

  async claim(kind: Kind, { signal }: Cancel = {}): Promise<Claim> {
    throwIfCancelled(signal, 'Claiming a sandbox');
    if (this.#closing !== undefined) throw closed();
    const since = performance.now();
    const shelf = this.#shelfOf(kind);
    shelf.noteClaim(since);
    const over = this.#beginClaim();
    try {
      const ready = await this.#takeReady(shelf);
      this.#tend(shelf);
      const sandbox = ready ?? (await this.#takeNext(shelf, { signal }));
      shelf.noteServed(ready !== undefined, performance.now() - since);
      return this.#claimOf(shelf, sandbox, ready !== undefined, over);
    } catch (error) {
      over();
      throw error;
    }
  }

  /** Has that many ready, now and from now on, as far as the ceiling allows. */
  async reserve(kind: Kind, count: number, { signal }: Cancel = {}): Promise<void> {
    const shelf = this.#shelfOf(kind);
    shelf.reserved = count;
    this.#tend(shelf);
    while (shelf.ready.length < this.#targetOf(shelf)) {
      if (this.#closing !== undefined) throw closed();
      if (shelf.failure !== undefined) throw shelf.failure;
      await this.#made.changed('Filling the pool', { signal });
    }
  }

  /** Sandboxes that were used and are not quite gone. */
  get ending(): number {
    return this.#endings.size;
  }

  metrics(): readonly ShelfMetrics[] {
    return [...this.#shelves.values()].map((shelf) => shelf.metrics(this.#targetOf(shelf)));
  }

  [Symbol.asyncDispose](): Promise<void> {
    // Known before it begins: nothing waits for a quiet moment any more.
    this.#closing ??= Promise.resolve().then(() => this.#close());
    return this.#closing;
  }

  #shelfOf(kind: Kind): Shelf {
    const shelf = this.#shelves.get(kind.key) ?? new Shelf(kind);
    this.#shelves.set(kind.key, shelf);
    return shelf;
  }

  /** What demand or a reservation asks for, as far as the kinds that were used later leave room for it. */
  #targetOf(shelf: Shelf): number {
    const wanted = Math.max(this.#options.floor, shelf.demand, shelf.reserved);
    const later = [...this.#shelves.values()].filter(({ lastUsed }) => lastUsed > shelf.lastUsed);
    const taken = later.reduce((sum, { ready, making }) => sum + ready.length + making, 0);
    return Math.max(Math.min(wanted, this.#options.ceiling - taken), 0);
  }

  /** The first on the shelf that is alive. */
  async #takeReady(shelf: Shelf): Promise<Sandbox | undefined> {
    for (;;) {
      const sandbox = shelf.ready.shift();
      if (sandbox === undefined || (await isHealthy(sandbox))) return sandbox;
      shelf.discarded += 1;
      void this.#endings.end(sandbox, 'soon');
    }
  }

  async #takeNext(shelf: Shelf, cancel: Cancel): Promise<Sandbox> {
    if (this.#closing !== undefined) throw closed();
    const next = shelf.next(cancel);
    this.#tend(shelf);
    return next;
  }

  #beginClaim(): () => void {
    const claim = Promise.withResolvers<void>();
    this.#claims.add(claim.promise);
    const over = this.#lull.disturb();
    return () => {
      this.#claims.delete(claim.promise);
      claim.resolve();
      over();
    };
  }

  #claimOf(shelf: Shelf, sandbox: Sandbox, warm: boolean, over: () => void): Claim {
    let retired: Promise<void> | undefined;
    return {
      sandbox,
      warm,
      keep: () => {
        over();
        this.#tend(shelf);
      },
      retire: (pace = 'soon') => {
        if (retired === undefined) {
          retired = this.#endings.end(sandbox, pace);
          over();
          this.#tend(shelf);
        } else if (pace === 'now') return this.#endings.end(sandbox, pace);
        return retired;
      },
    };
  }

  /** Makes what is missing: for those who wait at once, for the stock when that is in nobody's way. */
  #tend(shelf: Shelf): void {
    if (this.#closing !== undefined) return;
    const missing = shelf.waiting + this.#wantedForStock(shelf) - shelf.making;
    const most = shelf.waiting > 0 ? makeAtOnce.waiting : makeAtOnce.stock;
    for (let count = Math.min(missing, most - this.#making.size); count > 0; count -= 1) {
      const making = this.#make(shelf).finally(() => {
        this.#making.delete(making);
        this.#made.flash();
        for (const other of this.#shelves.values()) this.#tend(other);
      });
      this.#making.add(making);
    }
  }

  /** Making competes with the runs for the processor: a shelf that holds enough waits for a quiet moment. */
  #wantedForStock(shelf: Shelf): number {
    const target = this.#targetOf(shelf);
    const stock = shelf.ready.length;
    if (stock >= target || performance.now() < shelf.retryAt) return 0;
    const enough = this.#lull.isWorthWaitingFor ? Math.min(target / 2, lowStock) : target / 2;
    if (this.#claims.size > 0 && stock + shelf.making >= enough) return 0;
    return target - stock;
  }

  /** What was put off while runs were on. */
  #workOff(): void {
    this.#endings.proceed();
    for (const shelf of this.#shelves.values()) this.#tend(shelf);
  }

  async #make(shelf: Shelf): Promise<void> {
    shelf.making += 1;
    try {
      const sandbox = await shelf.kind.open();
      shelf.making -= 1;
      shelf.noteMade();
      if (this.#closing !== undefined) void this.#endings.end(sandbox, 'soon');
      else if (!shelf.serve(sandbox)) shelf.ready.push(sandbox);
      for (const other of this.#shelves.values()) this.#trim(other);
    } catch (error) {
      shelf.making -= 1;
      shelf.noteFailure(error);
      shelf.refuse(error);
    }
  }

  #trim(shelf: Shelf): void {
    while (shelf.ready.length > this.#targetOf(shelf)) this.#drop(shelf);
  }

  #drop(shelf: Shelf): void {
    const oldest = shelf.ready.shift();
    if (oldest !== undefined) void this.#endings.end(oldest, 'soon');
  }

  #endPeriod(): void {
    for (const [key, shelf] of this.#shelves) {
      shelf.endPeriod();
      if (performance.now() - shelf.lastUsed > idleMs && shelf.waiting === 0 && shelf.reserved === 0) {
        this.#shelves.delete(key);
        while (shelf.ready.length > 0) this.#drop(shelf);
      } else {
        this.#trim(shelf);
        this.#tend(shelf);
      }
    }
  }

  async #close(): Promise<void> {
    clearInterval(this.#sweep);
    this.#endings.proceed();
    for (const shelf of this.#shelves.values()) {
      while (shelf.refuse(closed()));
      while (shelf.ready.length > 0) this.#drop(shelf);
    }
    await within({ ms: claimsDeadlineMs, what: 'The last claims' }, () => Promise.all(this.#claims)).catch(
      () => {},
    );
    while (this.#making.size > 0) await Promise.all(this.#making);
    await this.#endings.done();
  }
}

/** One question over the link: what does not answer at once is not given to anybody. */
async function isHealthy(sandbox: Sandbox): Promise<boolean> {
  const answer = within({ ms: healthDeadlineMs, what: 'The sandbox' }, (signal) => sandbox.ping({ signal }));
  return answer.then(
    () => true,
    () => false,
  );
}

function closed(): GeodeError {
  return new GeodeError('cancelled', 'Geode is shutting down; no sandbox is given out any more.');
}
