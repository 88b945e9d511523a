/**
 * Spans of a trace: how long each part of a request took. The current span travels with the work through promises.
 * Without a current span nothing is recorded, and the functions here only call the work.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';

export type AttributeValue = string | number | boolean | readonly string[];
export type Attributes = Readonly<Record<string, AttributeValue | null | undefined>>;
export const spanKinds = ['internal', 'server', 'client', 'producer', 'consumer'] as const;
export type SpanKind = (typeof spanKinds)[number];

/** The ids of a span, as W3C's header `traceparent` has them. */
export interface SpanContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

export interface SpanEvent {
  readonly name: string;
  readonly at: number;
  readonly attributes: ReadonlyMap<string, AttributeValue>;
}

export interface SpanOptions {
  readonly kind?: SpanKind;
  readonly attributes?: Attributes;
  readonly links?: readonly SpanContext[];
}

/** Receives each sampled span at its end. */
export type OnSpanEnd = (span: Span) => void;

/** Text from elsewhere, such as the name of a tool, is cut at this length. */
const longestText = 1_024;
const mostEvents = 64;
const mostItems = 16;

export class Span implements SpanContext {
  name: string;
  readonly kind: SpanKind;
  readonly traceId: string;
  readonly spanId = randomBytes(8).toString('hex');
  readonly parentId: string | undefined;
  readonly isSampled: boolean;
  readonly links: readonly SpanContext[];
  /** In ms since 1970, with fractions. */
  readonly startedAt = now();
  readonly attributes = new Map<string, AttributeValue>();
  readonly events: SpanEvent[] = [];
  /** The type of the failure: a code of the catalogue, or the name of an error. */
  failure: string | undefined;
  endedAt: number | undefined;
  readonly #onEnd: OnSpanEnd;

  constructor(
    name: string,
    parent: { readonly traceId: string; readonly spanId?: string; readonly isSampled: boolean },
    onEnd: OnSpanEnd,
    { kind = 'internal', attributes = {}, links = [] }: SpanOptions = {},
  ) {
    this.name = name.slice(0, longestText);
    this.kind = kind;
    this.traceId = parent.traceId;
    this.parentId = parent.spanId;
    this.isSampled = parent.isSampled;
    this.links = links;
    this.#onEnd = onEnd;
    this.set(attributes);
  }

  /** A part of this span. */
  child(name: string, options?: SpanOptions): Span {
    return new Span(name, this, this.#onEnd, options);
  }

  /** Adds attributes; those without a value are left out. */
  set(attributes: Attributes): void {
    if (!this.isSampled) return;
    for (const [key, value] of Object.entries(attributes))
      if (value !== null && value !== undefined) this.attributes.set(key, shortened(value));
  }

  event(name: string, attributes: Attributes = {}): void {
    if (!this.isSampled || this.events.length >= mostEvents) return;
    const given = Object.entries(attributes).flatMap(([key, value]) =>
      value === null || value === undefined ? [] : [[key, shortened(value)] as const],
    );
    this.events.push({ name, at: now(), attributes: new Map(given) });
  }

  /** Only the type: a message may contain text of users. */
  fail(error: unknown): void {
    this.failure = failureType(error);
    this.set({ 'error.type': this.failure });
  }

  /** A second call has no effect. */
  end(): void {
    if (this.endedAt !== undefined) return;
    this.endedAt = now();
    if (this.isSampled) this.#onEnd(this);
  }
}

const current = new AsyncLocalStorage<Span>();

export function currentSpan(): Span | undefined {
  return current.getStore();
}

/** Does the work with this span as the current one. */
export function withSpan<T>(span: Span | undefined, work: () => T): T {
  return span === undefined ? work() : current.run(span, work);
}

/** A part of the current span, which the caller ends. Undefined if no span is current. */
export function startSpan(name: string, options?: SpanOptions): Span | undefined {
  return current.getStore()?.child(name, options);
}

/** Does the work in a span of its own, which ends with it. */
export function inSpan<T>(
  name: string,
  options: SpanOptions,
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  const span = startSpan(name, options);
  return span === undefined ? work(undefined) : finishing(span, work);
}

/** Does the work in this span, and ends it. */
export async function finishing<T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    return await current.run(span, () => work(span));
  } catch (error) {
    span.fail(error);
    throw error;
  } finally {
    span.end();
  }
}

/** The same stream, whose source works in the span; `note` receives each item. The span ends with the stream. */
export function spanningStream<T, R>(
  span: Span | undefined,
  source: AsyncGenerator<T, R>,
  note: (item: T, span: Span) => void = () => {},
): AsyncGenerator<T, R> {
  return span === undefined ? source : streamIn(span, source, note);
}

async function* streamIn<T, R>(
  span: Span,
  source: AsyncGenerator<T, R>,
  note: (item: T, span: Span) => void,
): AsyncGenerator<T, R> {
  let isOver = false;
  try {
    for (;;) {
      const step = await current.run(span, () => source.next());
      if (step.done) {
        isOver = true;
        return step.value;
      }
      note(step.value, span);
      yield step.value;
    }
  } catch (error) {
    isOver = true;
    span.fail(error);
    throw error;
  } finally {
    if (!isOver)
      await current.run(span, () => Promise.resolve(source.return(undefined as R)).catch(() => {}));
    span.end();
  }
}

/** W3C Trace Context, version 00. */
export function traceparentOf({ traceId, spanId, isSampled }: SpanContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/** Undefined for a header that is missing or not valid. Later versions may have further fields. */
export function parseTraceparent(header: string | undefined): SpanContext | undefined {
  const found = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/s.exec(
    header?.slice(0, 200) ?? '',
  );
  const [, version, traceId = '', spanId = '', flags = '00', more] = found ?? [];
  if (found === null || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** The variable that programs in a sandbox read, such as SDKs of OpenTelemetry; empty without a span. */
export function traceVariables(span: Span | undefined): Readonly<Record<string, string>> {
  return span === undefined ? {} : { TRACEPARENT: traceparentOf(span) };
}

function failureType(error: unknown): string {
  if (typeof error === 'string') return error;
  if (!(error instanceof Error)) return '_OTHER';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

function shortened(value: AttributeValue): AttributeValue {
  if (typeof value === 'string') return value.slice(0, longestText);
  return typeof value === 'object'
    ? value.slice(0, mostItems).map((text) => text.slice(0, longestText))
    : value;
}

function now(): number {
  return performance.timeOrigin + performance.now();
}
