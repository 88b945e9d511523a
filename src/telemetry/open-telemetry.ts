import { randomBytes } from 'node:crypto';
import { chatKey } from '../base/identity.ts';
import { createRateLimiter } from '../base/rate-limit.ts';
import { type Attributes, Span } from '../base/spans.ts';
import type { Telemetry } from '../seams/telemetry.ts';
import { Exporter, type ExporterOptions } from './exporter.ts';
import { otlpAttributes, otlpSpan, type SpanOrigin } from './otlp.ts';
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
}

/** Requests of the sandboxes of one user to the relay. */
const relayRequests = { perMinute: 600, burst: 100 };
const mostUsers = 10_000;

export function openTelemetry(options: TelemetryOptions): Telemetry {
  const { serviceName, version, resource, sample, relayRate } = options;
  const exporter = new Exporter(options);
  const origin: SpanOrigin = {
    resource: otlpAttributes({
      ...resource,
      'service.name': serviceName,
      'service.version': version,
      'process.pid': process.pid,
    }),
    scope: { name: 'geode', version },
  };
  const onEnd = (span: Span) => void exporter.add({ origin, span: otlpSpan(span), source: 'host' });
  const turns = new Map<string, Span>();
  const requests = createRateLimiter(relayRequests);
  const allowance = new SpanAllowance(relayRate);
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
        waitMs: () => requests.take(owner.user),
        refused: (spans) => exporter.count('sandbox', 'refused', spans),
        take(spans) {
          const allowed = allowance.take(owner.user, spans.length);
          exporter.count('sandbox', 'refused', spans.length - allowed);
          let taken = 0;
          for (const span of spans.slice(0, allowed))
            if (exporter.add({ ...span, source: 'sandbox' })) taken += 1;
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

class SpanAllowance {
  readonly #perMs: number;
  readonly #burst: number;
  readonly #users = new Map<string, { tokens: number; atMs: number }>();

  constructor(perSecond: number) {
    this.#perMs = perSecond / 1000;
    this.#burst = perSecond * 10;
  }

  /** Returns how many of the spans are covered. */
  take(user: string, spans: number): number {
    const atMs = performance.now();
    const last = this.#users.get(user) ?? { tokens: this.#burst, atMs };
    const tokens = Math.min(this.#burst, last.tokens + (atMs - last.atMs) * this.#perMs);
    const taken = Math.min(spans, Math.floor(tokens));
    this.#users.delete(user);
    this.#users.set(user, { tokens: tokens - taken, atMs });
    const [oldest] = this.#users.keys();
    if (this.#users.size > mostUsers && oldest !== undefined) this.#users.delete(oldest);
    return taken;
  }
}
