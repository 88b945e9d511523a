import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import type { SecureContext } from 'node:tls';
import { reasonOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { Counter, type Sample } from '../base/metrics-text.ts';
import { traceRequest, type WrittenSpan } from './otlp.ts';

type SpanSource = 'host' | 'sandbox';

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

interface Bound {
  readonly spans: number;
  readonly bytes: number;
}

/** Bounds of the queues of the host, of each user, and of all users together: none takes the place of another. */
const mostOfHost: Bound = { spans: 4_096, bytes: 8 * 1024 ** 2 };
const mostOfUser: Bound = { spans: 1_024, bytes: 2 * 1024 ** 2 };
const mostOfUsers: Bound = { spans: 4_096, bytes: 8 * 1024 ** 2 };
const mostUsers = 256;
const mostPerRequest: Bound = { spans: 512, bytes: 1024 ** 2 };
const mostTries = 4;
const firstPauseMs = 1_000;
const longestPauseMs = 30_000;
const mostAnswerBytes = 64 * 1024;
/** At the end of the host. */
const lastRequestMs = 2_000;
const worthAnotherTry = new Set([408, 429, 502, 503, 504]);
/** Answers to what a request holds. They say nothing about the requests of others. */
const aboutContent = new Set([400, 413, 422]);

/** Spans of the host, or of the sandboxes of one user. They are sent in requests of their own. */
class Queue {
  readonly source: SpanSource;
  readonly #most: Bound;
  readonly #spans: WrittenSpan[] = [];
  bytes = 0;
  /** How often the oldest spans were tried. */
  tries = 0;

  constructor(source: SpanSource, most: Bound) {
    this.source = source;
    this.#most = most;
  }

  get length(): number {
    return this.#spans.length;
  }

  hasRoomFor(span: WrittenSpan): boolean {
    return this.length < this.#most.spans && this.bytes + sizeOf(span) <= this.#most.bytes;
  }

  add(span: WrittenSpan): void {
    this.#spans.push(span);
    this.bytes += sizeOf(span);
  }

  /** The oldest spans, as many as a request may have. */
  get batch(): readonly WrittenSpan[] {
    let bytes = 0;
    const first = this.#spans.slice(0, mostPerRequest.spans);
    const end = first.findIndex((span) => {
      bytes += sizeOf(span);
      return bytes > mostPerRequest.bytes;
    });
    return end < 0 ? first : first.slice(0, Math.max(1, end));
  }

  get isFullRequest(): boolean {
    return this.length >= mostPerRequest.spans || this.bytes >= mostPerRequest.bytes;
  }

  remove(spans: number): void {
    this.tries = 0;
    for (const span of this.#spans.splice(0, spans)) this.bytes -= sizeOf(span);
  }
}

/** As if no two spans had one origin, so that the size of what is kept and sent is never more. */
function sizeOf({ origin, bytes }: WrittenSpan): number {
  return origin.bytes + bytes;
}

/**
 * Sends spans to the collector in the background. The queues are bounded: while the collector is away, spans are lost
 * and counted, and the log has one line for the outage.
 */
export class Exporter implements AsyncDisposable {
  readonly #options: ExporterOptions;
  readonly #host = new Queue('host', mostOfHost);
  /** Queues with spans, by the user. The first is sent next. */
  readonly #users = new Map<string, Queue>();
  readonly #counts = new Counter();
  readonly #agent: PlainAgent;
  readonly #ending = new AbortController();
  #headers: Readonly<Record<string, string>> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  /** Requests in a row that failed because of the collector. */
  #failures = 0;
  #isDisposed = false;

  constructor(options: ExporterOptions) {
    this.#options = options;
    const kept = { keepAlive: true, maxSockets: 1, maxFreeSockets: 1, timeout: 30_000 };
    this.#agent = options.url.protocol === 'https:' ? new SecureAgent(kept) : new PlainAgent(kept);
  }

  /** Takes a span of the host, or of a sandbox of this user. Returns false if there is no room: the span is lost. */
  add(span: WrittenSpan, user?: string): boolean {
    const queue =
      user === undefined ? this.#host : (this.#users.get(user) ?? new Queue('sandbox', mostOfUser));
    if (this.#ending.signal.aborted || !queue.hasRoomFor(span) || !this.#mayTake(span, user)) {
      this.count(queue.source, 'lost');
      return false;
    }
    queue.add(span);
    if (user !== undefined) this.#users.set(user, queue);
    this.#later(queue.isFullRequest ? 0 : (this.#options.delayMs ?? 1_000));
    return true;
  }

  /** Whether all users together have room for the span. */
  #mayTake(span: WrittenSpan, user: string | undefined): boolean {
    if (user === undefined) return true;
    const queues = [...this.#users.values()];
    const spans = queues.reduce((sum, { length }) => sum + length, 0);
    const bytes = queues.reduce((sum, queue) => sum + queue.bytes, 0);
    return (
      (this.#users.has(user) || queues.length < mostUsers) &&
      spans < mostOfUsers.spans &&
      bytes + sizeOf(span) <= mostOfUsers.bytes
    );
  }

  count(source: SpanSource, outcome: 'sent' | 'lost' | 'refused', spans = 1): void {
    if (spans > 0) this.#counts.add({ source, outcome }, spans);
  }

  get samples(): readonly Sample[] {
    return this.#counts.samples;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    clearTimeout(this.#timer);
    const last = setTimeout(() => this.#ending.abort(), lastRequestMs);
    await this.#sending;
    while (this.#hasSpans && this.#failures === 0 && !this.#ending.signal.aborted) await this.#sendAll();
    clearTimeout(last);
    this.#ending.abort();
    for (const queue of [this.#host, ...this.#users.values()]) {
      this.count(queue.source, 'lost', queue.length);
      queue.remove(queue.length);
    }
    this.#agent.destroy();
  }

  get #hasSpans(): boolean {
    return this.#host.length > 0 || this.#users.size > 0;
  }

  /** While a pause after a failure lasts, its timer stays. */
  #later(ms: number): void {
    if (this.#sending !== undefined || this.#isDisposed) return;
    if (this.#timer !== undefined && (ms > 0 || this.#failures > 0)) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#sending = this.#sendAll().finally(() => {
        this.#sending = undefined;
        if (this.#hasSpans) this.#later(this.#pauseMs());
      });
    }, ms).unref();
  }

  #pauseMs(): number {
    if (this.#failures > 0) return Math.min(firstPauseMs * 2 ** (this.#failures - 1), longestPauseMs);
    const isFull = [this.#host, ...this.#users.values()].some((queue) => queue.isFullRequest);
    return isFull ? 0 : (this.#options.delayMs ?? 1_000);
  }

  /** Sends one request of each queue, and the host's between them. Stops when the collector fails. Never throws. */
  async #sendAll(): Promise<void> {
    await this.#send(this.#host);
    for (const [user, queue] of [...this.#users]) {
      if (this.#failures > 0) return;
      await this.#send(queue);
      this.#users.delete(user);
      if (queue.length > 0) this.#users.set(user, queue);
      if (this.#failures === 0) await this.#send(this.#host);
    }
  }

  /** Sends the oldest spans. They stay in the queue until they are accepted or given up. */
  async #send(queue: Queue): Promise<void> {
    const { batch, source } = queue;
    if (batch.length === 0 || this.#ending.signal.aborted) return;
    const end = (outcome: 'sent' | 'lost' | 'refused', rejected = 0) => {
      queue.remove(batch.length);
      this.count(source, outcome, batch.length - rejected);
      this.count(source, 'refused', rejected);
    };
    try {
      const { status, rejected } = await this.#post(traceRequest(batch));
      if (status >= 200 && status < 300) {
        end('sent', Math.min(rejected, batch.length));
        return this.#noteBack();
      }
      if (source === 'sandbox' && aboutContent.has(status)) return end('refused');
      this.#headers = undefined;
      this.#noteAway(`it answered ${status}`);
      if (!worthAnotherTry.has(status)) return end('lost');
    } catch (error) {
      this.#noteAway(reasonOf(error));
    }
    queue.tries += 1;
    if (queue.tries >= mostTries) end('lost');
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

  #noteAway(reason: string): void {
    this.#failures += 1;
    if (this.#failures > 1) return;
    const { log, url } = this.#options;
    log.warn(
      `Traces cannot be sent to ${url.origin}: ${reason}. They are lost until the collector works again; nothing else is affected.`,
    );
  }

  #noteBack(): void {
    if (this.#failures === 0) return;
    this.#failures = 0;
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
