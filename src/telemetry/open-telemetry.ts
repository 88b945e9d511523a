import { randomBytes } from 'node:crypto';
import { chatKey } from '../base/identity.ts';
import { createRateLimiter } from '../base/rate-limit.ts';
import { type Attributes, Span } from '../base/spans.ts';
import type { Telemetry } from '../seams/telemetry.ts';
import { Exporter, type ExporterOptions } from './exporter.ts';
import { originOf, otlpAttributes, otlpSpan, spanOf } from './otlp.ts';
import { Relay } from './relay.ts';

export interface TelemetryOptions extends ExporterOptions {
  readonly serviceName: string;
  readonly version: string;
  /** Further attributes of the host's spans. */
  readonly resource: Attributes;
  /** The share of the traces to keep, from 0 to 1. */
  readonly sample: number;
  /** Spans per second from the sandboxes of one user; bursts of ten times that. */
  readonly relayRate: number;
  /** How long a program in a sandbox may take for a request. */
  readonly relayTimeoutMs?: number;
}

/** Requests of the sandboxes of one user to the relay. */
const relayRequests = { perMinute: 600, burst: 100 };
/** A program that sends `relayRate` spans per second sends about so many bytes with each. */
const bytesPerSpan = 4 * 1024;
const mostUsers = 10_000;

export function openTelemetry(options: TelemetryOptions): Telemetry {
  const { serviceName, version, resource, sample, relayRate, relayTimeoutMs } = options;
  const exporter = new Exporter(options);
  const marks = { 'service.name': serviceName, 'service.version': version, 'process.pid': process.pid };
  const origin = originOf(otlpAttributes({ ...resource, ...marks }), { name: 'geode', version });
  const onEnd = (span: Span) => void exporter.add(spanOf(origin, otlpSpan(span)));
  const turns = new Map<string, Span>();
  const requests = createRateLimiter(relayRequests);
  const allowance = new Allowance(relayRate);
  const bytes = new Allowance(relayRate * bytesPerSpan);
  return {
    url: options.url.href,
    root(name, { parent, ...rest } = {}) {
      if (parent !== undefined) return new Span(name, parent, onEnd, rest);
      const traceId = randomBytes(16).toString('hex');
      return new Span(name, { traceId, isSampled: isKept(traceId, sample) }, onEnd, rest);
    },
    enterTurn(user, chat, span) {
      const key = chatKey(user, chat);
      turns.set(key, span);
      return {
        [Symbol.dispose]() {
          if (turns.get(key) === span) turns.delete(key);
        },
      };
    },
    turnOf: (user, chat) => (chat === undefined ? undefined : turns.get(chatKey(user, chat))),
    relay: (owner, { secrets, note }) =>
      new Relay({
        owner,
        secrets,
        note,
        hostService: serviceName,
        timeoutMs: relayTimeoutMs,
        waitMs: () => requests.take(owner.user),
        waitForBytesMs: (count) => bytes.waitMs(owner.user, count),
        refused: (spans) => exporter.count('sandbox', 'refused', spans),
        take(spans) {
          const allowed = allowance.take(owner.user, spans.length);
          exporter.count('sandbox', 'refused', spans.length - allowed);
          let taken = 0;
          for (const span of spans.slice(0, allowed)) if (exporter.add(span, owner.user)) taken += 1;
          return taken;
        },
      }),
    samples: () => exporter.samples,
    [Symbol.asyncDispose]: () => exporter[Symbol.asyncDispose](),
  };
}

/** By the trace id, so that every program which decides this way keeps the same traces. */
function isKept(traceId: string, share: number): boolean {
  return Number.parseInt(traceId.slice(-13), 16) < share * 2 ** 52;
}

/** Limits what the sandboxes of each user send: an amount per second, and bursts of ten times that. */
class Allowance {
  readonly #perMs: number;
  readonly #burst: number;
  readonly #users = new Map<string, { readonly tokens: number; readonly atMs: number }>();

  constructor(perSecond: number) {
    this.#perMs = perSecond / 1000;
    this.#burst = perSecond * 10;
  }

  /** Returns how much of the amount is covered. */
  take(user: string, amount: number): number {
    const tokens = this.#tokensOf(user);
    const taken = Math.max(0, Math.min(amount, Math.floor(tokens)));
    this.#keep(user, tokens - taken);
    return taken;
  }

  /** Takes all if anything is left, so that no amount is too large for ever. Returns 0, or the time to wait. */
  waitMs(user: string, amount: number): number {
    const tokens = this.#tokensOf(user);
    if (tokens <= 0) return Math.ceil((1 - tokens) / this.#perMs);
    this.#keep(user, tokens - amount);
    return 0;
  }

  #tokensOf(user: string): number {
    const last = this.#users.get(user);
    if (last === undefined) return this.#burst;
    return Math.min(this.#burst, last.tokens + (performance.now() - last.atMs) * this.#perMs);
  }

  #keep(user: string, tokens: number): void {
    this.#users.delete(user);
    this.#users.set(user, { tokens, atMs: performance.now() });
    const [oldest] = this.#users.keys();
    if (this.#users.size > mostUsers && oldest !== undefined) this.#users.delete(oldest);
  }
}
