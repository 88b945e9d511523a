import { type Cancel, throwIfCancelled, within } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import { Notifier } from '../base/notifier.ts';
import type { Sandbox } from '../seams/sandbox.ts';
import { DisposalQueue } from './disposal-queue.ts';
import { IdleGate } from './idle-gate.ts';
import { type Kind, Stock, type StockMetrics } from './stock.ts';

export interface PoolOptions {
  /** Minimum number kept ready of each kind in use. */
  readonly floor: number;
  /** Maximum number ready at once, of all kinds together; 0 keeps none. */
  readonly ceiling: number;
}

/** Waiting callers get more parallel creations than the stock. */
const makeAtOnce = { waiting: 4, stock: 2 } as const;
/** Enough for the next moment: while a stock holds more, creating waits for a quiet moment. */
const lowStock = 8;
const healthDeadlineMs = 1_000;
/** How long closing waits for claimed sandboxes; a caller that keeps one longer has to end it itself. */
const claimsDeadlineMs = 10_000;
const periodMs = 60_000;
/** A kind without a request for this long is no longer in use. */
const idleMs = 10 * periodMs;

/** A sandbox for one caller, once. */
export interface ClaimedSandbox {
  readonly sandbox: Sandbox;
  /** It was ready before the request. */
  readonly warm: boolean;
  /** Moves the sandbox to the caller permanently; the pool forgets it. */
  keep(): void;
  /** Ends it; resolves when nothing of it is left. `now` does not wait for those that ended earlier. */
  retire(pace?: 'now' | 'soon'): Promise<void>;
}

/**
 * Blank sandboxes with a working link, so that nobody waits for one to be created. A claimed one never returns: it is
 * ended or kept, and another replaces it.
 */
export class Pool implements AsyncDisposable {
  readonly #options: PoolOptions;
  readonly #stocks = new Map<string, Stock>();
  readonly #making = new Set<Promise<void>>();
  readonly #disposals: DisposalQueue;
  readonly #made = new Notifier();
  readonly #sweep: NodeJS.Timeout;
  readonly #claims = new Set<Promise<void>>();
  readonly #idleGate = new IdleGate(() => this.#workOff());
  #closing: Promise<void> | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#disposals = new DisposalQueue({
      busy: () => this.#closing === undefined && this.#idleGate.isWorthWaitingFor,
      mostWaiting: options.ceiling,
    });
    this.#sweep = setInterval(() => this.#endPeriod(), periodMs).unref();
  }

  async claim(kind: Kind, { signal }: Cancel = {}): Promise<ClaimedSandbox> {
    throwIfCancelled(signal, 'Claiming a sandbox');
    if (this.#closing !== undefined) throw closed();
    const since = performance.now();
    const stock = this.#stockOf(kind);
    stock.noteClaim(since);
    const over = this.#beginClaim();
    try {
      const ready = await this.#takeReady(stock);
      this.#tend(stock);
      const sandbox = ready ?? (await this.#takeNext(stock, { signal }));
      stock.noteServed(ready !== undefined, performance.now() - since);
      return this.#claimOf(stock, sandbox, ready !== undefined, over);
    } catch (error) {
      over();
      throw error;
    }
  }

  /** Keeps that many ready from now on, up to the maximum. */
  async reserve(kind: Kind, count: number, { signal }: Cancel = {}): Promise<void> {
    const stock = this.#stockOf(kind);
    stock.reserved = count;
    this.#tend(stock);
    while (stock.ready.length < this.#targetOf(stock)) {
      if (this.#closing !== undefined) throw closed();
      if (stock.failure !== undefined) throw stock.failure;
      await this.#made.changed('Filling the pool', { signal });
    }
  }

  /** Used sandboxes that are still being removed. */
  get ending(): number {
    return this.#disposals.size;
  }

  metrics(): readonly StockMetrics[] {
    return [...this.#stocks.values()].map((stock) => stock.metrics(this.#targetOf(stock)));
  }

  [Symbol.asyncDispose](): Promise<void> {
    // Known before it begins, so that nothing waits for a quiet moment any more.
    this.#closing ??= Promise.resolve().then(() => this.#close());
    return this.#closing;
  }

  #stockOf(kind: Kind): Stock {
    const stock = this.#stocks.get(kind.key) ?? new Stock(kind);
    this.#stocks.set(kind.key, stock);
    return stock;
  }

  /** The demand or the reservation, limited by the room that more recently used kinds leave. */
  #targetOf(stock: Stock): number {
    const wanted = Math.max(this.#options.floor, stock.demand, stock.reserved);
    const later = [...this.#stocks.values()].filter(({ lastUsed }) => lastUsed > stock.lastUsed);
    const taken = later.reduce((sum, { ready, making }) => sum + ready.length + making, 0);
    return Math.max(Math.min(wanted, this.#options.ceiling - taken), 0);
  }

  /** The first live sandbox of the stock. */
  async #takeReady(stock: Stock): Promise<Sandbox | undefined> {
    for (;;) {
      const sandbox = stock.ready.shift();
      if (sandbox === undefined || (await isHealthy(sandbox))) return sandbox;
      stock.discarded += 1;
      void this.#disposals.end(sandbox, 'soon');
    }
  }

  async #takeNext(stock: Stock, cancel: Cancel): Promise<Sandbox> {
    if (this.#closing !== undefined) throw closed();
    const next = stock.next(cancel);
    this.#tend(stock);
    return next;
  }

  #beginClaim(): () => void {
    const claim = Promise.withResolvers<void>();
    this.#claims.add(claim.promise);
    const over = this.#idleGate.disturb();
    return () => {
      this.#claims.delete(claim.promise);
      claim.resolve();
      over();
    };
  }

  #claimOf(stock: Stock, sandbox: Sandbox, warm: boolean, over: () => void): ClaimedSandbox {
    let retired: Promise<void> | undefined;
    return {
      sandbox,
      warm,
      keep: () => {
        over();
        this.#tend(stock);
      },
      retire: (pace = 'soon') => {
        if (retired === undefined) {
          retired = this.#disposals.end(sandbox, pace);
          over();
          this.#tend(stock);
        } else if (pace === 'now') return this.#disposals.end(sandbox, pace);
        return retired;
      },
    };
  }

  /** Creates missing sandboxes: at once for waiting callers, for the stock while the pool is quiet. */
  #tend(stock: Stock): void {
    if (this.#closing !== undefined) return;
    const missing = stock.waiting + this.#wantedForStock(stock) - stock.making;
    const most = stock.waiting > 0 ? makeAtOnce.waiting : makeAtOnce.stock;
    for (let count = Math.min(missing, most - this.#making.size); count > 0; count -= 1) {
      const making = this.#make(stock).finally(() => {
        this.#making.delete(making);
        this.#made.notify();
        for (const other of this.#stocks.values()) this.#tend(other);
      });
      this.#making.add(making);
    }
  }

  /** Creating competes with runs for the CPU, so a stock that holds enough waits for a quiet moment. */
  #wantedForStock(stock: Stock): number {
    const target = this.#targetOf(stock);
    const ready = stock.ready.length;
    if (ready >= target || performance.now() < stock.retryAt) return 0;
    const enough = this.#idleGate.isWorthWaitingFor ? Math.min(target / 2, lowStock) : target / 2;
    if (this.#claims.size > 0 && ready + stock.making >= enough) return 0;
    return target - ready;
  }

  /** Does the work that was deferred during runs. */
  #workOff(): void {
    this.#disposals.proceed();
    for (const stock of this.#stocks.values()) this.#tend(stock);
  }

  async #make(stock: Stock): Promise<void> {
    stock.making += 1;
    try {
      const sandbox = await stock.kind.open();
      stock.making -= 1;
      stock.noteMade();
      if (this.#closing !== undefined) void this.#disposals.end(sandbox, 'soon');
      else if (!stock.serve(sandbox)) stock.ready.push(sandbox);
      for (const other of this.#stocks.values()) this.#trim(other);
    } catch (error) {
      stock.making -= 1;
      stock.noteFailure(error);
      stock.refuse(error);
    }
  }

  #trim(stock: Stock): void {
    while (stock.ready.length > this.#targetOf(stock)) this.#drop(stock);
  }

  #drop(stock: Stock): void {
    const oldest = stock.ready.shift();
    if (oldest !== undefined) void this.#disposals.end(oldest, 'soon');
  }

  #endPeriod(): void {
    for (const [key, stock] of this.#stocks) {
      stock.endPeriod();
      if (performance.now() - stock.lastUsed > idleMs && stock.waiting === 0 && stock.reserved === 0) {
        this.#stocks.delete(key);
        while (stock.ready.length > 0) this.#drop(stock);
      } else {
        this.#trim(stock);
        this.#tend(stock);
      }
    }
  }

  async #close(): Promise<void> {
    clearInterval(this.#sweep);
    this.#disposals.proceed();
    for (const stock of this.#stocks.values()) {
      while (stock.refuse(closed()));
      while (stock.ready.length > 0) this.#drop(stock);
    }
    await within({ ms: claimsDeadlineMs, what: 'The last claims' }, () => Promise.all(this.#claims)).catch(
      () => {},
    );
    while (this.#making.size > 0) await Promise.all(this.#making);
    await this.#disposals.done();
  }
}

/** One request over the link: a sandbox that does not answer at once is not handed out. */
async function isHealthy(sandbox: Sandbox): Promise<boolean> {
  const answer = within({ ms: healthDeadlineMs, what: 'The sandbox' }, (signal) => sandbox.ping({ signal }));
  return answer.then(
    () => true,
    () => false,
  );
}

function closed(): GeodeError {
  return new GeodeError('cancelled', 'Geode is shutting down; no more sandboxes are available.');
}
