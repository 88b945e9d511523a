import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Log } from '../../../base/log.ts';
import { type FollowedSocket, followSocket, type SocketEnd } from '../follow-socket.ts';
import { PlatformError } from '../platform-error.ts';
import type { DiscordRest } from './rest.ts';

export interface DiscordGatewayOptions {
  readonly rest: DiscordRest;
  readonly token: string;
  readonly intents: number;
  /** A new session started: earlier messages are not delivered automatically. */
  readonly began: (began: Began, signal: AbortSignal) => Promise<void>;
  /**
   * Stores the content of an event. If it throws, the connection ends and Discord repeats the event after the resume.
   */
  readonly take: (event: { readonly name: string; readonly data: unknown }) => Promise<void>;
  readonly log: Log;
}

interface Began {
  readonly botId: string;
  readonly application: string;
}

const frameSchema = z.looseObject({
  op: z.number(),
  d: z.unknown().optional(),
  s: z.number().nullish(),
  t: z.string().nullish(),
});
const helloSchema = z.looseObject({ heartbeat_interval: z.number().positive() });
const readySchema = z.looseObject({
  session_id: z.string(),
  resume_gateway_url: z.string(),
  user: z.looseObject({ id: z.string() }),
  application: z.looseObject({ id: z.string() }),
});
const addressSchema = z.looseObject({ url: z.string() });

/** Closing with any code except these keeps the session, so it can be resumed. */
const leaveCode = 1000;
const comeBackCode = 4000;
const sessionLost = [1000, 1001, 4003, 4004, 4007, 4009];
const hopeless: Readonly<Record<number, string>> = {
  4004: 'the token is not valid',
  4010: 'the shard is not valid',
  4011: 'the bot is in too many servers for one connection',
  4012: 'this version of the gateway is no longer supported',
  4013: 'the intents are not valid',
  4014: 'it has no permission to read messages: enable the Message Content Intent in the developer portal, or set groups to "addressed"',
};

interface GatewaySession {
  readonly id: string;
  readonly url: string;
}

/** Discord's gateway: a WebSocket for the bot's events, resumed after a lost connection. */
export class DiscordGateway {
  readonly #options: DiscordGatewayOptions;
  #session: GatewaySession | undefined;
  /** The number of the last stored event; later events are sent again after a resume. */
  #stored: number | null = null;

  constructor(options: DiscordGatewayOptions) {
    this.#options = options;
  }

  /** One connection. */
  async connect(up: () => void, signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    const url = this.#session?.url ?? (await this.#address(signal));
    const heart = new Heart(() => this.#stored);
    try {
      const end = await followSocket(
        {
          url: `${url.replace(/\/$/, '')}/?v=10&encoding=json`,
          frame: (socket, frame) => this.#frame(socket, frame, heart, up, signal),
          leaveCode,
          log,
        },
        signal,
      );
      this.#ended(end);
    } finally {
      heart.stop();
    }
  }

  async #address(signal: AbortSignal): Promise<string> {
    return addressSchema.parse(await this.#options.rest.call('GET', '/gateway/bot', { signal })).url;
  }

  async #frame(
    socket: FollowedSocket,
    given: unknown,
    heart: Heart,
    up: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    const frame = frameSchema.safeParse(given);
    if (!frame.success) {
      this.#options.log.warn('Skipped an invalid frame from Discord');
      return;
    }
    const { op, d, s, t } = frame.data;
    if (op === 10) {
      heart.start(socket, helloSchema.parse(d).heartbeat_interval);
      this.#greet(socket);
    } else if (op === 11) heart.answered();
    else if (op === 1) heart.beat(socket);
    else if (op === 7) socket.close(comeBackCode);
    else if (op === 9) {
      if (d !== true) this.#forget();
      // Discord asks for a pause before the next attempt.
      await delay(1_000 + Math.random() * 2_000, undefined, { signal }).catch(() => {});
      socket.close(comeBackCode);
    } else if (op === 0) {
      await this.#event(t ?? '', d, up, signal);
      this.#stored = s ?? this.#stored;
    }
  }

  #greet(socket: FollowedSocket): void {
    const { token, intents } = this.#options;
    const properties = { os: 'linux', browser: 'geode', device: 'geode' };
    if (this.#session === undefined) socket.send({ op: 2, d: { token, intents, properties } });
    else socket.send({ op: 6, d: { token, session_id: this.#session.id, seq: this.#stored } });
  }

  async #event(name: string, data: unknown, up: () => void, signal: AbortSignal): Promise<void> {
    const { began, take } = this.#options;
    if (name === 'READY') {
      const { session_id: id, resume_gateway_url: url, user, application } = readySchema.parse(data);
      await began({ botId: user.id, application: application.id }, signal);
      this.#session = { id, url };
      up();
    } else if (name === 'RESUMED') up();
    else await take({ name, data });
  }

  #forget(): void {
    this.#session = undefined;
    this.#stored = null;
  }

  #ended({ code, reason }: SocketEnd): void {
    if (sessionLost.includes(code)) this.#forget();
    const why = hopeless[code];
    if (why !== undefined) {
      this.#forget();
      throw new PlatformError(`Discord closed the gateway: ${why} (${code})`, code === 4004 ? 401 : 400);
    }
    if (code === comeBackCode) return;
    throw new Error(`the connection to Discord ended (${code}${reason === '' ? '' : `, ${reason}`})`);
  }
}

/** Sends heartbeats at Discord's interval. A heartbeat without an answer means a dead connection. */
class Heart {
  readonly #last: () => number | null;
  #timer: NodeJS.Timeout | undefined;
  #isAnswered = true;

  constructor(last: () => number | null) {
    this.#last = last;
  }

  start(socket: FollowedSocket, everyMs: number): void {
    this.stop();
    this.#timer = setInterval(() => {
      if (!this.#isAnswered) return socket.close(comeBackCode);
      this.#isAnswered = false;
      this.beat(socket);
    }, everyMs);
  }

  beat(socket: FollowedSocket): void {
    socket.send({ op: 1, d: this.#last() });
  }

  answered(): void {
    this.#isAnswered = true;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
