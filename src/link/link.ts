import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { z } from 'zod';
import { type Cancel, within } from '../core/cancel.ts';
import { GeodeError, isGeodeError } from '../core/errors.ts';
import type { Activity } from '../core/sandbox.ts';
import { ActivityMeter } from './activity-meter.ts';
import type { Dialer } from './dial.ts';
import { type Claim, shakeHands } from './handshake.ts';
import { Pauses, sandboxPaused } from './pauses.ts';
import { openStream, requestJson, responseOf } from './request.ts';
import { checkPulse, openSession, pong } from './session.ts';

/** What the runtime knows of the room itself: a dead sandbox is told apart from a slow one by asking. */
export type Vital =
  | { readonly alive: true; readonly paused?: boolean }
  | { readonly alive: false; readonly reason: string };

export interface LinkOptions {
  readonly dialer: Dialer;
  readonly claim: Claim;
  /** The guest has just been made and nothing else runs in the sandbox: the first to answer is it. */
  readonly fresh: boolean;
  /** The sandbox is paused now: its guest answers when it is resumed. */
  readonly paused?: boolean;
  readonly vital: (signal: AbortSignal) => Promise<Vital>;
  /** How often the guest is asked for a sign of life, and how long it has for it. */
  readonly pingEveryMs?: number;
}

const callDeadlineMs = 30_000;
const reconnectDeadlineMs = 15_000;
const vitalEveryMs = 200;
const pausedVitalEveryMs = 2_000;
const vitalDeadlineMs = 3_000;
const usualPingEveryMs = 10_000;

interface CallOptions extends Cancel {
  readonly body?: unknown;
  readonly deadlineMs?: number;
  /** A question about the sandbox, not work in it: no activity. */
  readonly quiet?: boolean;
}

interface Waiter {
  readonly resolve: (session: ClientHttp2Session) => void;
  readonly reject: (error: GeodeError) => void;
}

/**
 * The one connection to a guest, over all the connections that it takes. Calls wait for a lost one to come
 * back; when the runtime says that the sandbox has ended, everything that waits is told so at once.
 */
export class Link {
  readonly #options: LinkOptions;
  #session: ClientHttp2Session | undefined;
  #end: GeodeError | undefined;
  readonly #waiting = new Set<Waiter>();
  #watch: NodeJS.Timeout | undefined;
  #refusal: GeodeError | undefined;
  #fresh: boolean;
  #asking: Promise<void> | undefined;
  readonly #meter = new ActivityMeter();
  readonly #pauses = new Pauses();

  private constructor(options: LinkOptions) {
    this.#options = options;
    this.#fresh = options.fresh;
    this.#pauses.set(options.paused ?? false);
  }

  /** Ready when the guest has answered, or at once for one that is paused. On failure the dialer is closed. */
  static async open(
    options: LinkOptions,
    { deadlineMs, signal }: { deadlineMs: number } & Cancel,
  ): Promise<Link> {
    const link = new Link(options);
    try {
      await options.dialer.start((connection) => void link.#welcome(connection));
      link.#keepWatch();
      // What was started a moment ago needs that moment more than the question.
      if (!options.fresh) void link.#askVital();
      if (!link.paused) await link.#ready({ deadlineMs, signal });
      return link;
    } catch (error) {
      await link.close();
      throw error;
    }
  }

  async #ready({ deadlineMs, signal }: { deadlineMs: number } & Cancel): Promise<void> {
    const deadline = { ms: deadlineMs, what: 'Waiting for the guest', signal };
    await within(deadline, (stop) => this.#next(stop)).catch((error) => {
      throw isGeodeError(error, 'timed_out') ? notReady(deadlineMs, this.#refusal) : error;
    });
  }

  /** Why the link has ended for good, if it has. */
  get end(): GeodeError | undefined {
    return this.#end;
  }

  get activity(): Activity {
    return this.#meter;
  }

  get paused(): boolean {
    return this.#pauses.paused;
  }

  /** For how long the sandbox has been paused or held still in all. */
  get pausedMs(): number {
    return this.#pauses.ms;
  }

  /** From before the guest is frozen on, nothing new is asked of it. One that was not to be frozen to its end is thawed. */
  async pause(freeze: () => Promise<void>, thaw: () => Promise<void>): Promise<void> {
    if (this.#end !== undefined) throw this.#end;
    const before = this.paused;
    this.#turn(true);
    await this.#turningBy(freeze).catch(async (error) => {
      // What cannot be thawed either counts as paused until the runtime says otherwise: it can be resumed.
      if (!before)
        await this.#turningBy(thaw).then(
          () => this.#turn(false),
          () => {},
        );
      throw error;
    });
  }

  /** Ready when the guest has answered. */
  async resume(thaw: () => Promise<void>, ready: { deadlineMs: number } & Cancel): Promise<void> {
    if (this.#end !== undefined) throw this.#end;
    await this.#turningBy(thaw);
    this.#turn(false);
    await this.#ready(ready);
  }

  /** Holds the guest still without a word to those who call: they wait. The result lets it go on, and is called once. */
  async hold(freeze: () => Promise<void>, thaw: () => Promise<void>): Promise<() => Promise<void>> {
    if (this.#end !== undefined) throw this.#end;
    const over = this.#pauses.hold();
    const free = () => thaw().finally(over);
    await freeze().catch(async (error) => {
      await free().catch(() => {});
      await this.#askVital();
      throw this.#end ?? error;
    });
    return free;
  }

  /** What cannot be turned may have ended. */
  async #turningBy(work: () => Promise<void>): Promise<void> {
    await this.#pauses.turning(work).catch(async (error) => {
      await this.#askVital();
      throw this.#end ?? error;
    });
  }

  #turn(paused: boolean): void {
    this.#pauses.set(paused);
    if (paused) this.#rejectWaiting(sandboxPaused());
    this.#keepWatch();
  }

  /** The live session, or the next one: a lost link is waited for, a dead sandbox is not. */
  async session({ signal }: Cancel = {}): Promise<ClientHttp2Session> {
    if (this.#end !== undefined) throw this.#end;
    if (this.paused) throw sandboxPaused();
    if (this.#session !== undefined) return this.#session;
    const what = 'Reconnecting to the sandbox';
    return within({ ms: reconnectDeadlineMs, what, signal }, (stop) => this.#next(stop));
  }

  /** Who stops waiting leaves the queue. */
  #next(stop: AbortSignal): Promise<ClientHttp2Session> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    if (this.#session !== undefined) return Promise.resolve(this.#session);
    return new Promise((resolve, reject) => {
      const waiter = { resolve, reject };
      this.#waiting.add(waiter);
      stop.addEventListener('abort', () => this.#waiting.delete(waiter), { once: true });
    });
  }

  async call<T>(
    method: string,
    path: string,
    schema: z.ZodType<T>,
    { body, signal, deadlineMs = callDeadlineMs, quiet = false }: CallOptions = {},
  ): Promise<T> {
    const over = quiet ? () => {} : this.#meter.begin();
    try {
      const session = await this.session({ signal });
      return await this.guarded(() =>
        requestJson(session, { method, path, body, schema, deadlineMs, signal }),
      );
    } finally {
      over();
    }
  }

  /** A stream that counts as activity for as long as it is open. */
  stream(session: ClientHttp2Session, method: string, path: string, signal?: AbortSignal): ClientHttp2Stream {
    const stream = openStream(session, method, path, signal);
    stream.once('close', this.#meter.begin());
    return stream;
  }

  /** Without a request: answered by the other end of the connection itself. */
  async ping({ signal }: Cancel = {}): Promise<void> {
    const session = await this.session({ signal });
    const deadline = { ms: callDeadlineMs, what: 'Waiting for an answer from the sandbox', signal };
    return this.guarded(() => within(deadline, () => pong(session)));
  }

  /** The headers of an answer, within the deadline of any call. */
  answer(stream: ClientHttp2Stream, { signal }: Cancel = {}): Promise<IncomingHttpHeaders> {
    const deadline = { ms: callDeadlineMs, what: 'Waiting for an answer from the sandbox', signal };
    return this.guarded(() => within(deadline, () => responseOf(stream)));
  }

  /** Runs a conversation with the guest; one that breaks the protocol ends the link. */
  async guarded<T>(conversation: () => Promise<T>): Promise<T> {
    try {
      return await conversation();
    } catch (error) {
      if (isGeodeError(error, 'guest_protocol')) this.#finish(error);
      if (isGeodeError(error, 'link_lost')) await this.#askVital();
      throw isGeodeError(error, 'link_lost') && this.#end !== undefined ? this.#end : error;
    }
  }

  /** Whoever calls from now on hears the reason. */
  async close(
    reason = new GeodeError('sandbox_gone', 'The sandbox was stopped or released.'),
  ): Promise<void> {
    this.#finish(reason);
    await this.#options.dialer.close();
  }

  async #welcome(connection: Duplex): Promise<void> {
    let session: ClientHttp2Session | undefined;
    try {
      session = openSession(connection);
      await shakeHands(session, this.#options.claim, this.#fresh);
      if (this.#end !== undefined || session.destroyed) return session.destroy();
      this.#adopt(session);
    } catch (error) {
      session?.destroy();
      connection.destroy();
      if (this.#fresh && isGeodeError(error, 'guest_version')) this.#finish(error);
      if (error instanceof GeodeError) this.#refusal = error;
    }
  }

  #adopt(session: ClientHttp2Session): void {
    this.#session?.destroy();
    this.#session = session;
    this.#fresh = false;
    this.#keepWatch();
    session.once('close', () => {
      if (this.#session !== session) return;
      this.#session = undefined;
      this.#keepWatch();
      void this.#askVital();
    });
    for (const { resolve } of this.#waiting) resolve(session);
    this.#waiting.clear();
  }

  /** Over a live session the guest is asked; without one, and while it is paused, the runtime is. */
  #keepWatch(): void {
    clearInterval(this.#watch);
    if (this.#end !== undefined) return;
    const session = this.#session;
    if (session !== undefined && !this.paused) {
      const { pingEveryMs = usualPingEveryMs } = this.#options;
      this.#watch = setInterval(() => {
        if (this.#pauses.held) return;
        const pausedMs = this.pausedMs;
        checkPulse(session, pingEveryMs, () => this.pausedMs !== pausedMs);
      }, pingEveryMs).unref();
      return;
    }
    const everyMs = this.paused ? pausedVitalEveryMs : vitalEveryMs;
    this.#watch = setInterval(() => void this.#askVital(), everyMs);
    if (this.paused) this.#watch.unref();
  }

  /** One question at a time, and not for long: an engine that does not answer says nothing about the sandbox. */
  #askVital(): Promise<void> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #ask(): Promise<void> {
    const alive: Vital = { alive: true };
    const isSteady = this.#pauses.steady();
    const vital = await within(
      { ms: vitalDeadlineMs, what: 'Asking for the sandbox' },
      this.#options.vital,
    ).catch(() => alive);
    if (!vital.alive) this.#finish(new GeodeError('sandbox_gone', `The sandbox has ended: ${vital.reason}.`));
    else if (isSteady() && (vital.paused ?? this.paused) !== this.paused) this.#turn(!this.paused);
  }

  #finish(reason: GeodeError): void {
    if (this.#end !== undefined) return;
    this.#end = reason;
    this.#pauses.set(false);
    clearInterval(this.#watch);
    this.#session?.destroy();
    this.#session = undefined;
    this.#rejectWaiting(reason);
  }

  #rejectWaiting(reason: GeodeError): void {
    for (const { reject } of this.#waiting) reject(reason);
    this.#waiting.clear();
  }
}

function notReady(deadlineMs: number, refusal: GeodeError | undefined): GeodeError {
  const reason = refusal === undefined ? '' : ` Last attempt: ${refusal.message}`;
  return new GeodeError('sandbox_not_ready', `The guest did not answer within ${deadlineMs} ms.${reason}`);
}
