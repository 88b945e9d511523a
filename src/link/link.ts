import { type ClientHttp2Session, connect } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { z } from 'zod';
import { type Cancel, within } from '../core/cancel.ts';
import { GeodeError, isGeodeError } from '../core/errors.ts';
import type { Dialer } from './dial.ts';
import { type Claim, type GuestFacts, shakeHands } from './handshake.ts';
import { requestJson } from './request.ts';

/** What the runtime knows of the room itself: a dead sandbox is told apart from a slow one by asking. */
export type Vital = { readonly alive: true } | { readonly alive: false; readonly reason: string };

export interface LinkOptions {
  readonly dialer: Dialer;
  readonly claim: Claim;
  /** The guest has just been made and nothing else runs in the sandbox: the first to answer is it. */
  readonly fresh: boolean;
  readonly vital: () => Promise<Vital>;
}

const callDeadlineMs = 30_000;
const reconnectDeadlineMs = 15_000;
const vitalEveryMs = 200;
const pingEveryMs = 10_000;
const streamWindowBytes = 1024 ** 2;
const sessionWindowBytes = 64 * 1024 ** 2;
const frameBytes = 256 * 1024;
const sessionMemoryMb = 256;

/**
 * The one connection to a guest, over all the connections that it takes. Calls wait for a lost one to come
 * back; when the runtime says that the sandbox has ended, everything that waits is told so at once.
 */
export class Link {
  readonly #options: LinkOptions;
  #session: ClientHttp2Session | undefined;
  #guest: GuestFacts | undefined;
  #end: GeodeError | undefined;
  #waiting: { resolve: (session: ClientHttp2Session) => void; reject: (error: GeodeError) => void }[] = [];
  #watch: NodeJS.Timeout | undefined;
  #refusal: GeodeError | undefined;
  #fresh: boolean;

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
      link.#watchVital();
      await within({ ms: deadlineMs, what: 'Waiting for the guest', signal }, () => link.session());
      return link;
    } catch (error) {
      const reason = isGeodeError(error, 'timed_out') ? notReady(deadlineMs, link.#refusal) : error;
      await link.close();
      throw reason;
    }
  }

  get guest(): GuestFacts | undefined {
    return this.#guest;
  }

  /** Why the link has ended for good, if it has. */
  get end(): GeodeError | undefined {
    return this.#end;
  }

  /** The live session, or the next one: a lost link is waited for, a dead sandbox is not. */
  async session(options: Cancel = {}): Promise<ClientHttp2Session> {
    if (this.#end !== undefined) throw this.#end;
    if (this.#session !== undefined) return this.#session;
    const next = new Promise<ClientHttp2Session>((resolve, reject) =>
      this.#waiting.push({ resolve, reject }),
    );
    return within({ ms: reconnectDeadlineMs, what: 'Reconnecting to the sandbox', ...options }, () => next);
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
      const guest = await shakeHands(session, this.#options.claim, this.#fresh);
      if (this.#end !== undefined || session.destroyed) return session.destroy();
      this.#adopt(session, guest);
    } catch (error) {
      session?.destroy();
      connection.destroy();
      if (isGeodeError(error, 'guest_version')) this.#finish(error);
      if (error instanceof GeodeError) this.#refusal = error;
    }
  }

  #adopt(session: ClientHttp2Session, guest: GuestFacts): void {
    this.#session?.destroy();
    this.#session = session;
    this.#guest = guest;
    this.#fresh = false;
    clearInterval(this.#watch);
    this.#watch = setInterval(() => checkPulse(session), pingEveryMs).unref();
    session.once('close', () => {
      if (this.#session !== session) return;
      this.#session = undefined;
      clearInterval(this.#watch);
      this.#watchVital();
    });
    for (const { resolve } of this.#waiting.splice(0)) resolve(session);
  }

  #watchVital(): void {
    if (this.#end !== undefined) return;
    void this.#askVital();
    this.#watch = setInterval(() => void this.#askVital(), vitalEveryMs);
  }

  async #askVital(): Promise<void> {
    const vital = await this.#options.vital().catch(() => ({ alive: true }) as const);
    if (!vital.alive) this.#finish(new GeodeError('sandbox_gone', `The sandbox has ended: ${vital.reason}.`));
  }

  #finish(reason: GeodeError): void {
    if (this.#end !== undefined) return;
    this.#end = reason;
    clearInterval(this.#watch);
    this.#session?.destroy();
    this.#session = undefined;
    for (const { reject } of this.#waiting.splice(0)) reject(reason);
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
