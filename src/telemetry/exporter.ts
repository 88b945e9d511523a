import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import type { SecureContext } from 'node:tls';
import { reasonOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { Counter, type Sample } from '../base/metrics-text.ts';
import { type OtlpSpan, type SpanOrigin, traceRequest } from './otlp.ts';

export type SpanSource = 'host' | 'sandbox';

export interface QueuedSpan {
  readonly origin: SpanOrigin;
  readonly span: OtlpSpan;
  readonly source: SpanSource;
}

export interface ExporterOptions {
  readonly url: URL;
  /** Read for the first request, and again when the collector refused the last ones. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly tls: () => SecureContext;
  readonly log: Log;
  /** How long spans are collected before they are sent. */
  readonly delayMs?: number;
}

const mostQueued = 4_096;
/** Spans of sandboxes never take the place of the host's own. */
const mostQueuedOf: Readonly<Record<SpanSource, number>> = { host: mostQueued, sandbox: mostQueued / 2 };
const mostPerRequest = 512;
const mostTries = 4;
const firstPauseMs = 1_000;
const longestPauseMs = 30_000;
const mostAnswerBytes = 64 * 1024;
/** At the end of the host. */
const lastRequestMs = 2_000;
const worthAnotherTry = new Set([408, 429, 502, 503, 504]);

/**
 * Sends spans to the collector in the background. The queue is bounded: while the collector is away, spans are lost
 * and counted, and the log has one line for the outage.
 */
export class Exporter implements AsyncDisposable {
  readonly #options: ExporterOptions;
  readonly #queue: QueuedSpan[] = [];
  readonly #queued: Record<SpanSource, number> = { host: 0, sandbox: 0 };
  readonly #counts = new Counter();
  readonly #agent: PlainAgent;
  readonly #ending = new AbortController();
  #headers: Readonly<Record<string, string>> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #tries = 0;
  #isAway = false;

  constructor(options: ExporterOptions) {
    this.#options = options;
    const kept = { keepAlive: true, maxSockets: 1, maxFreeSockets: 1, timeout: 30_000 };
    this.#agent = options.url.protocol === 'https:' ? new SecureAgent(kept) : new PlainAgent(kept);
  }

  /** Returns false if there is no room: the span is lost. */
  add(queued: QueuedSpan): boolean {
    const { source } = queued;
    if (this.#queue.length >= mostQueued || this.#queued[source] >= mostQueuedOf[source]) {
      this.count(source, 'lost');
      return false;
    }
    this.#queue.push(queued);
    this.#queued[source] += 1;
    this.#later(this.#queue.length >= mostPerRequest ? 0 : (this.#options.delayMs ?? 1_000));
    return true;
  }

  count(source: SpanSource, outcome: 'sent' | 'lost' | 'refused', spans = 1): void {
    if (spans > 0) this.#counts.add({ source, outcome }, spans);
  }

  get samples(): readonly Sample[] {
    return this.#counts.samples;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    const last = setTimeout(() => this.#ending.abort(), lastRequestMs);
    await this.#sending;
    while (this.#queue.length > 0 && !this.#isAway && !this.#ending.signal.aborted) await this.#send();
    clearTimeout(last);
    this.#ending.abort();
    this.#lose(this.#queue.length);
    this.#agent.destroy();
  }

  /** While a pause after a failure lasts, its timer stays. */
  #later(ms: number): void {
    if (this.#sending !== undefined || this.#ending.signal.aborted) return;
    if (this.#timer !== undefined && (ms > 0 || this.#tries > 0 || this.#isAway)) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#sending = this.#send().finally(() => {
        this.#sending = undefined;
        if (this.#queue.length > 0) this.#later(this.#pauseMs());
      });
    }, ms).unref();
  }

  #pauseMs(): number {
    if (this.#tries > 0) return Math.min(firstPauseMs * 2 ** (this.#tries - 1), longestPauseMs);
    if (this.#isAway) return longestPauseMs;
    return this.#queue.length >= mostPerRequest ? 0 : (this.#options.delayMs ?? 1_000);
  }

  /** Sends the oldest spans. They stay in the queue until they are accepted or given up. Never throws. */
  async #send(): Promise<void> {
    const batch = this.#queue.slice(0, mostPerRequest);
    try {
      const { status, rejected } = await this.#post(JSON.stringify(traceRequest(batch)));
      if (status >= 200 && status < 300) {
        this.#taken(batch.length);
        // The answer does not name the spans that it rejects.
        const refused = Math.min(rejected, batch.length);
        const ofSandboxes = batch.filter(({ source }) => source === 'sandbox').length;
        const share = Math.round((refused * ofSandboxes) / Math.max(1, batch.length));
        this.count('sandbox', 'sent', ofSandboxes - share);
        this.count('sandbox', 'refused', share);
        this.count('host', 'sent', batch.length - ofSandboxes - (refused - share));
        this.count('host', 'refused', refused - share);
        this.#noteBack();
        return;
      }
      this.#headers = undefined;
      this.#noteAway(`it answered ${status}`);
      if (!worthAnotherTry.has(status)) return this.#giveUp(batch.length);
    } catch (error) {
      this.#noteAway(reasonOf(error));
    }
    this.#tries += 1;
    if (this.#tries >= mostTries) this.#giveUp(batch.length);
  }

  #post(body: string): Promise<{ readonly status: number; readonly rejected: number }> {
    const { url, timeoutMs, headers, tls } = this.#options;
    this.#headers ??= headers();
    const isSecure = url.protocol === 'https:';
    const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#ending.signal]);
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const request = (isSecure ? secureRequest : plainRequest)(url, {
      method: 'POST',
      agent: this.#agent,
      signal,
      headers: {
        ...this.#headers,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
      ...(isSecure && { secureContext: tls() }),
    });
    request.on('error', reject);
    request.on('response', resolve);
    request.end(body);
    return promise.then(async (answer) => ({
      status: answer.statusCode ?? 0,
      rejected: rejectedIn(await textOf(answer)),
    }));
  }

  #giveUp(spans: number): void {
    this.#tries = 0;
    this.#lose(spans);
  }

  #lose(spans: number): void {
    for (const { source } of this.#taken(spans)) this.count(source, 'lost');
  }

  #taken(spans: number): readonly QueuedSpan[] {
    const taken = this.#queue.splice(0, spans);
    for (const { source } of taken) this.#queued[source] -= 1;
    return taken;
  }

  #noteAway(reason: string): void {
    if (this.#isAway) return;
    this.#isAway = true;
    const { log, url } = this.#options;
    log.warn(
      `Traces cannot be sent to ${url.origin}: ${reason}. They are lost until the collector works again; nothing else is affected.`,
    );
  }

  #noteBack(): void {
    this.#tries = 0;
    if (!this.#isAway) return;
    this.#isAway = false;
    this.#options.log.info(`Traces are sent to ${this.#options.url.origin} again.`);
  }
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer) {
    bytes += chunk.length;
    if (bytes > mostAnswerBytes) {
      answer.destroy();
      return '';
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function rejectedIn(text: string): number {
  try {
    const rejected = Number(JSON.parse(text)?.partialSuccess?.rejectedSpans ?? 0);
    return Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0;
  } catch {
    return 0;
  }
}
