import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { z } from 'zod';
import { type Cancel, within } from '../base/cancel.ts';
import { GeodeError, isGeodeError } from '../base/errors.ts';
import type { Activity } from '../seams/sandbox.ts';
import { ActivityMeter } from './activity-meter.ts';
import type { Dialer } from './dial.ts';
import { type GuestClaim, shakeHands } from './handshake.ts';
import { Pauses, sandboxPaused } from './pauses.ts';
import { openStream, requestJson, responseOf } from './request.ts';
import { openSession, pong } from './session.ts';
import { type Liveness, Watch } from './watch.ts';

export interface LinkOptions {
  readonly dialer: Dialer;
  readonly claim: GuestClaim;
  /** The guest was just created and nothing else runs in the sandbox: the first to answer is the guest. */
  readonly fresh: boolean;
  /** The sandbox is paused now: its guest answers after it is resumed. */
  readonly paused?: boolean;
  readonly liveness: (signal: AbortSignal) => Promise<Liveness>;
  /** Interval and timeout of pings to the guest. */
  readonly pingEveryMs?: number;
}

const callDeadlineMs = 30_000;
const reconnectDeadlineMs = 15_000;
const usualPingEveryMs = 10_000;

interface CallOptions extends Cancel {
  readonly body?: unknown;
  readonly deadlineMs?: number;
  /** A question about the sandbox, which does not count as activity. */
  readonly quiet?: boolean;
}

interface Waiter {
  readonly resolve: (session: ClientHttp2Session) => void;
  readonly reject: (error: GeodeError) => void;
}

/**
 * The one link to a guest, across all its connections. Calls wait for a lost connection to return; when the runtime
 * reports the end of the sandbox, every waiting call fails at once.
 */
export class Link {
  readonly #options: LinkOptions;
  #session: ClientHttp2Session | undefined;
  #end: GeodeError | undefined;
  readonly #waiting = new Set<Waiter>();
  #refusal: GeodeError | undefined;
  #fresh: boolean;
  readonly #meter = new ActivityMeter();
  readonly #pauses: Pauses;
  readonly #watch: Watch;

  private constructor(options: LinkOptions) {
    const { fresh, paused = false, liveness, pingEveryMs = usualPingEveryMs } = options;
    this.#options = options;
    this.#fresh = fresh;
    this.#pauses = new Pauses({
      paused,
      onChange: () => {
        if (this.paused) this.#rejectWaiting(sandboxPaused());
        this.#watch.keep(this.#session);
      },
      explain: async (error) => {
        await this.#watch.askVital();
        return this.#end ?? error;
      },
    });
    this.#watch = new Watch({
      liveness,
      pingEveryMs,
      pauses: this.#pauses,
      onEnd: (reason) => this.#finish(new GeodeError('sandbox_gone', `The sandbox has ended: ${reason}.`)),
    });
  }

  /** Resolves when the guest has answered, or at once for a paused one. A failure closes the dialer. */
  static async open(
    options: LinkOptions,
    { deadlineMs, signal }: { deadlineMs: number } & Cancel,
  ): Promise<Link> {
    const link = new Link(options);
    try {
      await options.dialer.start((connection) => link.#welcome(connection));
      link.#watch.keep(undefined);
      // Let a new command run before the first ping.
      if (!options.fresh) void link.#watch.askVital();
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

  /** The reason why the link closed permanently, if it did. */
  get end(): GeodeError | undefined {
    return this.#end;
  }

  get activity(): Activity {
    return this.#meter;
  }

  get paused(): boolean {
    return this.#pauses.paused;
  }

  /** Total time that the sandbox has been paused or held still. */
  get pausedMs(): number {
    return this.#pauses.ms;
  }

  /** Accepts no new calls from before the freeze. If the freeze fails half-way, the sandbox is thawed. */
  async pause(freeze: () => Promise<void>, thaw: () => Promise<void>): Promise<void> {
    if (this.#end !== undefined) throw this.#end;
    await this.#pauses.pause(freeze, thaw);
  }

  /** Resolves when the guest has answered. */
  async resume(thaw: () => Promise<void>, ready: { deadlineMs: number } & Cancel): Promise<void> {
    if (this.#end !== undefined) throw this.#end;
    await this.#pauses.resume(thaw);
    await this.#ready(ready);
  }

  /** Freezes the guest without refusing calls: they wait. Call the result once to continue. */
  async hold(freeze: () => Promise<void>, thaw: () => Promise<void>): Promise<() => Promise<void>> {
    if (this.#end !== undefined) throw this.#end;
    return this.#pauses.hold(freeze, thaw);
  }

  /** The current session, or the next one: waits for a lost link, but not for a dead sandbox. */
  async session({ signal }: Cancel = {}): Promise<ClientHttp2Session> {
    if (this.#end !== undefined) throw this.#end;
    if (this.paused) throw sandboxPaused();
    if (this.#session !== undefined) return this.#session;
    const what = 'Reconnecting to the sandbox';
    return within({ ms: reconnectDeadlineMs, what, signal }, (stop) => this.#next(stop));
  }

  /** A caller that stops waiting leaves the queue. */
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

  /** A stream that counts as activity while it is open. */
  stream(session: ClientHttp2Session, method: string, path: string, signal?: AbortSignal): ClientHttp2Stream {
    const stream = openStream(session, method, path, signal);
    stream.once('close', this.#meter.begin());
    return stream;
  }

  /** No request: the other end of the connection answers by itself. */
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

  /** Runs a conversation with the guest; a protocol violation ends the link. */
  async guarded<T>(conversation: () => Promise<T>): Promise<T> {
    try {
      return await conversation();
    } catch (error) {
      if (isGeodeError(error, 'guest_protocol')) this.#finish(error);
      if (isGeodeError(error, 'link_lost')) await this.#watch.askVital();
      throw isGeodeError(error, 'link_lost') && this.#end !== undefined ? this.#end : error;
    }
  }

  /** Calls from now on fail with the reason. */
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
    this.#watch.keep(session);
    session.once('close', () => {
      if (this.#session !== session) return;
      this.#session = undefined;
      this.#watch.keep(undefined);
      void this.#watch.askVital();
    });
    for (const { resolve } of this.#waiting) resolve(session);
    this.#waiting.clear();
  }

  #finish(reason: GeodeError): void {
    if (this.#end !== undefined) return;
    this.#end = reason;
    this.#watch.end();
    this.#pauses.set(false);
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
