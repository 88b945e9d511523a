import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
} from 'node:http2';
import type { Duplex } from 'node:stream';
import type { z } from 'zod';
import { type Cancel, within } from '../core/cancel.ts';
import { GeodeError, isGeodeError } from '../core/errors.ts';
import type { Dialer } from './dial.ts';
import { type Claim, shakeHands } from './handshake.ts';
import { linkLost, requestJson, responseOf } from './request.ts';

/** What the runtime knows of the room itself: a dead sandbox is told apart from a slow one by asking. */
export type Vital = { readonly alive: true } | { readonly alive: false; readonly reason: string };

export interface LinkOptions {
  readonly dialer: Dialer;
  readonly claim: Claim;
  /** The guest has just been made and nothing else runs in the sandbox: the first to answer is it. */
  readonly fresh: boolean;
  readonly vital: (signal: AbortSignal) => Promise<Vital>;
}

const callDeadlineMs = 30_000;
const reconnectDeadlineMs = 15_000;
const vitalEveryMs = 200;
const vitalDeadlineMs = 3_000;
const pingEveryMs = 10_000;
const streamWindowBytes = 1024 ** 2;
const sessionWindowBytes = 64 * 1024 ** 2;
const frameBytes = 256 * 1024;
const sessionMemoryMb = 256;

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

  private constructor(options: LinkOptions) {
    this.#options = options;
    this.#fresh = options.fresh;
  }

  /** Ready when the guest has answered. On failure the dialer is closed. */
  static async open(
    options: LinkOptions,
    { deadlineMs, signal }: { deadlineMs: number } & Cancel,
  ): Promise<Link> {
    const link = new Link(options);
    try {
      await options.dialer.start((connection) => void link.#welcome(connection));
      link.#watchVital(options.fresh ? 'later' : 'now');
      await within({ ms: deadlineMs, what: 'Waiting for the guest', signal }, (stop) => link.#next(stop));
      return link;
    } catch (error) {
      const reason = isGeodeError(error, 'timed_out') ? notReady(deadlineMs, link.#refusal) : error;
      await link.close();
      throw reason;
    }
  }

  /** Why the link has ended for good, if it has. */
  get end(): GeodeError | undefined {
    return this.#end;
  }

  /** The live session, or the next one: a lost link is waited for, a dead sandbox is not. */
  async session({ signal }: Cancel = {}): Promise<ClientHttp2Session> {
    if (this.#end !== undefined) throw this.#end;
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
    { body, signal, deadlineMs = callDeadlineMs }: { body?: unknown; deadlineMs?: number } & Cancel = {},
  ): Promise<T> {
    const session = await this.session({ signal });
    return this.guarded(() => requestJson(session, { method, path, body, schema, deadlineMs, signal }));
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

  async close(): Promise<void> {
    this.#finish(new GeodeError('sandbox_gone', 'The sandbox was stopped or released.'));
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
    clearInterval(this.#watch);
    this.#watch = setInterval(() => checkPulse(session), pingEveryMs).unref();
    session.once('close', () => {
      if (this.#session !== session) return;
      this.#session = undefined;
      clearInterval(this.#watch);
      this.#watchVital('now');
    });
    for (const { resolve } of this.#waiting) resolve(session);
    this.#waiting.clear();
  }

  /** `later`: what was started a moment ago needs that moment more than the question. */
  #watchVital(first: 'now' | 'later'): void {
    if (this.#end !== undefined) return;
    if (first === 'now') void this.#askVital();
    this.#watch = setInterval(() => void this.#askVital(), vitalEveryMs);
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
    const vital = await within(
      { ms: vitalDeadlineMs, what: 'Asking for the sandbox' },
      this.#options.vital,
    ).catch(() => alive);
    if (!vital.alive) this.#finish(new GeodeError('sandbox_gone', `The sandbox has ended: ${vital.reason}.`));
  }

  #finish(reason: GeodeError): void {
    if (this.#end !== undefined) return;
    this.#end = reason;
    clearInterval(this.#watch);
    this.#session?.destroy();
    this.#session = undefined;
    for (const { reject } of this.#waiting) reject(reason);
    this.#waiting.clear();
  }
}

function openSession(connection: Duplex): ClientHttp2Session {
  const session = connect('http://guest', {
    createConnection: () => connection,
    maxSessionMemory: sessionMemoryMb,
    settings: { enablePush: false, initialWindowSize: streamWindowBytes, maxFrameSize: frameBytes },
  });
  session.on('error', () => {});
  // A stream that is no socket may go before the session has looked at it.
  connection.once('close', () => session.destroy());
  session.once('connect', () => {
    if (!session.destroyed) session.setLocalWindowSize(sessionWindowBytes);
  });
  return session;
}

function pong(session: ClientHttp2Session): Promise<void> {
  return new Promise((resolve, reject) => {
    const lost = () => reject(linkLost());
    if (session.destroyed) return lost();
    // A session that ends tells its pings, unless it was so full of them that this one was never sent.
    const sent = session.ping((error) => (error ? lost() : resolve()));
    if (!sent) lost();
  });
}

/** A guest that does not answer a ping within a whole period is cut off; the link then reconnects. */
function checkPulse(session: ClientHttp2Session): void {
  const late = setTimeout(() => session.destroy(), pingEveryMs).unref();
  const sent = !session.destroyed && session.ping(() => clearTimeout(late));
  if (!sent) clearTimeout(late);
}

function notReady(deadlineMs: number, refusal: GeodeError | undefined): GeodeError {
  const reason = refusal === undefined ? '' : ` Last attempt: ${refusal.message}`;
  return new GeodeError('sandbox_not_ready', `The guest did not answer within ${deadlineMs} ms.${reason}`);
}
