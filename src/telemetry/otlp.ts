/** The parts of OTLP's trace request that are used, in its JSON form. */
import { type Attributes, type AttributeValue, type Span, spanKinds } from '../base/spans.ts';

export interface OtlpValue {
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  /** A 64-bit number as text. */
  readonly intValue?: string;
  readonly doubleValue?: number;
  readonly bytesValue?: string;
  readonly arrayValue?: { readonly values: readonly OtlpValue[] };
  readonly kvlistValue?: { readonly values: readonly OtlpAttribute[] };
}

export interface OtlpAttribute {
  readonly key: string;
  readonly value: OtlpValue;
}

interface OtlpEvent {
  readonly timeUnixNano: string;
  readonly name: string;
  readonly attributes: readonly OtlpAttribute[];
}

interface OtlpLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes: readonly OtlpAttribute[];
}

export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly flags?: number;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly OtlpAttribute[];
  readonly events: readonly OtlpEvent[];
  readonly links: readonly OtlpLink[];
  readonly status: { readonly code?: number; readonly message?: string };
}

interface OtlpScope {
  readonly name: string;
  readonly version: string;
}

/** Where a span comes from, as JSON. Spans of one origin are sent together. */
export interface SpanOrigin {
  readonly resource: string;
  readonly scope: string;
  readonly bytes: number;
}

/** A span as JSON, which takes less memory than its objects and has a known size. */
export interface WrittenSpan {
  readonly origin: SpanOrigin;
  readonly text: string;
  readonly bytes: number;
}

const sampledFlag = 1;
const errorStatus = 2;

export function otlpSpan(span: Span): OtlpSpan {
  const { traceId, spanId, parentId, name, kind, startedAt, endedAt = startedAt, failure } = span;
  return {
    traceId,
    spanId,
    ...(parentId !== undefined && { parentSpanId: parentId }),
    flags: sampledFlag,
    name,
    kind: spanKinds.indexOf(kind) + 1,
    startTimeUnixNano: nanoseconds(startedAt),
    endTimeUnixNano: nanoseconds(endedAt),
    attributes: attributesOf(span.attributes),
    events: span.events.map(({ name: event, at, attributes }) => ({
      timeUnixNano: nanoseconds(at),
      name: event,
      attributes: attributesOf(attributes),
    })),
    links: span.links.map((link) => ({ traceId: link.traceId, spanId: link.spanId, attributes: [] })),
    status: failure === undefined ? {} : { code: errorStatus, message: failure },
  };
}

export function otlpAttributes(attributes: Attributes): readonly OtlpAttribute[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === null || value === undefined ? [] : [{ key, value: otlpValue(value) }],
  );
}

export function originOf(attributes: readonly OtlpAttribute[], named: OtlpScope): SpanOrigin {
  const [resource, scope] = [JSON.stringify({ attributes }), JSON.stringify(named)];
  return { resource, scope, bytes: Buffer.byteLength(resource) + Buffer.byteLength(scope) };
}

export function spanOf(origin: SpanOrigin, span: OtlpSpan): WrittenSpan {
  const text = JSON.stringify(span);
  return { origin, text, bytes: Buffer.byteLength(text) };
}

/** The body of a request, with the spans of one origin together. */
export function traceRequest(spans: readonly WrittenSpan[]): string {
  const byOrigin = Map.groupBy(spans, ({ origin }) => origin);
  const resourceSpans = [...byOrigin].map(([{ resource, scope }, found]) => {
    const texts = found.map(({ text }) => text).join();
    return `{"resource":${resource},"scopeSpans":[{"scope":${scope},"spans":[${texts}]}]}`;
  });
  return `{"resourceSpans":[${resourceSpans.join()}]}`;
}

function attributesOf(attributes: ReadonlyMap<string, AttributeValue>): readonly OtlpAttribute[] {
  return otlpAttributes(Object.fromEntries(attributes));
}

function otlpValue(value: AttributeValue): OtlpValue {
  if (typeof value === 'string') return { stringValue: value.toWellFormed() };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'object') return { arrayValue: { values: value.map(otlpValue) } };
  return Number.isSafeInteger(value) ? { intValue: `${value}` } : { doubleValue: value };
}

function nanoseconds(ms: number): string {
  return `${BigInt(Math.round(ms * 1000)) * 1000n}`;
}
