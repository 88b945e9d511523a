import { isGeodeError, reasonOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Bus, Claim, MessageKind } from '../seams/bus.ts';

export interface LanesOptions {
  readonly bus: Bus;
  readonly kinds: readonly MessageKind[];
  /** Messages that are worked on at once. */
  readonly concurrency: number;
  readonly mostPerUser?: number;
  /** How the names of its lanes begin. */
  readonly lanes: readonly string[];
  readonly leaseMs?: number;
  /** Works on one message and ends or returns it. The signal fires when the lease is lost or the host closes. */
  readonly work: (claim: Claim, signal: AbortSignal) => Promise<void>;
  readonly log: Log;
}

const usualLeaseMs = 60_000;
/** Another process may have put something on the bus, and what is delayed falls due without a change. */
const lookEveryMs = 1_000;

/** Takes messages from the bus for as long as it is open, so many at a time. */
export class Lanes implements AsyncDisposable {
  readonly #options: LanesOptions;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<void>>();
  readonly #listening: Disposable;
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | undefined;
  #lookAgain = false;

  constructor(options: LanesOptions) {
    this.#options = options;
    this.#listening = options.bus.onChange(() => this.#look());
    this.#timer = setInterval(() => this.#look(), lookEveryMs);
    this.#look();
  }

  /** What is at work stays claimed: the next host goes on with it. */
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
      if (this.#lookAgain) {
        this.#lookAgain = false;
        this.#look();
      }
    });
  }

  async #claimAll(): Promise<void> {
    const { bus, kinds, lanes, concurrency, mostPerUser, leaseMs = usualLeaseMs, log } = this.#options;
    try {
      while (this.#running.size < concurrency && !this.#closing.signal.aborted) {
        const claim = await bus.claim({
          kinds,
          lanes,
          leaseMs,
          ...(mostPerUser !== undefined && { mostPerUser }),
        });
        if (claim === undefined) return;
        const working: Promise<void> = this.#work(claim, leaseMs).finally(() => {
          this.#running.delete(working);
          this.#look();
        });
        this.#running.add(working);
      }
    } catch (err) {
      log.error({ err }, `Messages cannot be taken from the bus: ${reasonOf(err)}`);
    }
  }

  async #work(claim: Claim, leaseMs: number): Promise<void> {
    const { bus, work, log } = this.#options;
    const lost = new AbortController();
    const signal = AbortSignal.any([this.#closing.signal, lost.signal]);
    const renewing = setInterval(() => {
      bus.renew(claim, leaseMs).catch((error) => {
        log.warn({ err: error, message: claim.message.id }, 'The lease of a message cannot be renewed');
        if (isGeodeError(error, 'lease_lost')) lost.abort(error);
      });
    }, leaseMs / 4);
    try {
      await work(claim, signal);
    } catch (err) {
      // The message is given back when its lease ends, or by the next host.
      if (!signal.aborted)
        log.error({ err, message: claim.message.id }, `A message failed: ${reasonOf(err)}`);
    } finally {
      clearInterval(renewing);
    }
  }
}
