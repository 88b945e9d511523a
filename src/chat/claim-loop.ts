import { isGeodeError, reasonOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Bus } from '../seams/bus.ts';

interface ClaimLoopOptions<Claim> {
  readonly bus: Bus;
  /** Name of the claimed thing for the log. */
  readonly noun: 'message' | 'reply';
  readonly idOf: (claim: Claim) => number;
  /** The next claim, if any. */
  readonly claim: () => Promise<Claim | undefined>;
  readonly renew: (claim: Claim) => Promise<void>;
  readonly leaseMs: number;
  /** Maximum claims in progress. */
  readonly concurrency: number;
  /**
   * Processes one claim. After a failure the claim stays until its lease ends. The signal fires when the lease is
   * lost.
   */
  readonly work: (claim: Claim, signal: AbortSignal) => Promise<void>;
  /** Whether closing the loop aborts the work; otherwise closing waits for it. */
  readonly stopsWork: boolean;
  readonly log: Log;
}

/** Poll, because other processes write to the bus and delayed messages come due silently. */
const lookEveryMs = 1_000;

/** Claims from the bus, works on up to `concurrency` claims at once, and renews their leases until the work ends. */
export class ClaimLoop<Claim> implements AsyncDisposable {
  readonly #options: ClaimLoopOptions<Claim>;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<void>>();
  readonly #listening: Disposable;
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | undefined;
  #lookAgain = false;

  constructor(options: ClaimLoopOptions<Claim>) {
    this.#options = options;
    this.#listening = options.bus.onChange(() => this.#look());
    this.#timer = setInterval(() => this.#look(), lookEveryMs);
    this.#look();
  }

  /** Work that stops unfinished stays claimed; the next host resumes it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.#listening[Symbol.dispose]();
    clearInterval(this.#timer);
    await this.#looking;
    await Promise.all(this.#running);
  }

  #look(): void {
    if (this.#closing.signal.aborted) return;
    if (this.#looking !== undefined) {
      this.#lookAgain = true;
      return;
    }
    this.#looking = this.#claimAll().finally(() => {
      this.#looking = undefined;
      if (!this.#lookAgain) return;
      this.#lookAgain = false;
      this.#look();
    });
  }

  async #claimAll(): Promise<void> {
    const { claim: next, concurrency, noun, log } = this.#options;
    try {
      while (this.#running.size < concurrency && !this.#closing.signal.aborted) {
        const claim = await next();
        if (claim === undefined) return;
        const working: Promise<void> = this.#work(claim).finally(() => {
          this.#running.delete(working);
          this.#look();
        });
        this.#running.add(working);
      }
    } catch (err) {
      log.error({ err }, `The next ${noun} cannot be claimed: ${reasonOf(err)}`);
    }
  }

  async #work(claim: Claim): Promise<void> {
    const { renew, work, idOf, noun, leaseMs, stopsWork, log } = this.#options;
    const about = { [noun]: idOf(claim) };
    const lost = new AbortController();
    const signal = stopsWork ? AbortSignal.any([this.#closing.signal, lost.signal]) : lost.signal;
    const renewing = setInterval(() => {
      renew(claim).catch((err) => {
        log.warn({ err, ...about }, `The lease of a ${noun} cannot be renewed`);
        if (isGeodeError(err, 'lease_lost')) lost.abort(err);
      });
    }, leaseMs / 4);
    try {
      await work(claim, signal);
    } catch (err) {
      if (!signal.aborted) log.error({ err, ...about }, `Work on a ${noun} failed: ${reasonOf(err)}`);
    } finally {
      clearInterval(renewing);
    }
  }
}
