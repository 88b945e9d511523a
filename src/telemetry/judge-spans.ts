/** Decides which spans of a sandbox are sent on, and in which form. The host writes the marks of their origin. */
import { z } from 'zod';
import { GeodeError } from '../base/errors.ts';
import { withoutSecrets } from '../base/secret-shapes.ts';
import type { RelayOwner } from '../seams/telemetry.ts';
import {
  type OtlpAttribute,
  type OtlpSpan,
  type OtlpValue,
  otlpAttributes,
  type SpanOrigin,
} from './otlp.ts';

export interface JudgedSpan {
  readonly origin: SpanOrigin;
  readonly span: OtlpSpan;
}

export interface Judged {
  readonly spans: readonly JudgedSpan[];
  /** Spans that are not valid or too large. */
  readonly refused: number;
}

export interface JudgeOptions {
  readonly owner: RelayOwner;
  /** The name of the host's own service, which no sandbox can have. */
  readonly hostService: string;
  /** Values that must not be shown. */
  readonly secrets: readonly string[];
}

const mostSpans = 2_048;
const mostOrigins = 64;
const mostAttributes = 64;
const mostEvents = 64;
const mostLinks = 32;
const longestKey = 256;
const longestText = 4_096;
const deepestValue = 4;
const mostSpanCharacters = 16 * 1024;
/** Attributes with the text of prompts, answers and tool calls, by the GenAI conventions. */
const contents =
  /^(gen_ai\.(input\.messages|output\.messages|system_instructions|prompt|completion|tool\.call\.(arguments|result)|tool\.definitions)|user_prompt|tool_input|tool_output|response\.model_output)/;

const list = z.array(z.unknown()).optional().default([]);
const requestSchema = z.object({ resourceSpans: list });
const resourceSchema = z.object({
  resource: z.object({ attributes: list }).optional(),
  scopeSpans: list,
});
const scopeSchema = z.object({
  scope: z.object({ name: z.string().default(''), version: z.string().default('') }).optional(),
  spans: list,
});
const isNotZero = (id: string) => !/^0+$/.test(id);
const traceId = z
  .string()
  .regex(/^[0-9a-f]{32}$/i)
  .toLowerCase()
  .refine(isNotZero);
const spanId = z
  .string()
  .regex(/^[0-9a-f]{16}$/i)
  .toLowerCase()
  .refine(isNotZero);
const parentId = z.union([z.literal('').transform(() => undefined), spanId]).optional();
/** A sender may write 64 bits as a number, with fewer exact digits. */
const wholeNumber = z
  .number()
  .refine(Number.isInteger)
  .transform((number) => `${BigInt(number)}`);
const integer = z.union([z.string().regex(/^-?\d{1,20}$/), wholeNumber]);
const time = integer.refine((text) => /^\d{1,19}$/.test(text));
const spanSchema = z.object({
  traceId,
  spanId,
  parentSpanId: parentId,
  flags: z.number().int().nonnegative().max(0xffff_ffff).optional(),
  name: z.string().min(1),
  kind: z.number().int().min(0).max(5).default(0),
  startTimeUnixNano: time,
  endTimeUnixNano: time,
  attributes: list,
  events: list,
  links: list,
  status: z
    .object({ code: z.number().int().min(0).max(2).optional(), message: z.string().optional() })
    .default({}),
});
const eventSchema = z.object({ timeUnixNano: time, name: z.string(), attributes: list });
const linkSchema = z.object({ traceId, spanId, attributes: list });
const attributeSchema = z.object({ key: z.string().min(1).max(longestKey), value: z.unknown() });
const valueSchema = z.object({
  stringValue: z.string().optional(),
  boolValue: z.boolean().optional(),
  intValue: integer.optional(),
  doubleValue: z.number().optional(),
  bytesValue: z.string().optional(),
  arrayValue: z.object({ values: list }).optional(),
  kvlistValue: z.object({ values: list }).optional(),
});

/** Throws `invalid_input` for something else than a request, and `too_large` for too many spans. */
export function judgeSpans(given: unknown, options: JudgeOptions): Judged {
  const request = requestSchema.safeParse(given);
  if (!request.success)
    throw new GeodeError(
      'invalid_input',
      'The request is not an OTLP trace request: resourceSpans is no list.',
    );
  const spans: JudgedSpan[] = [];
  let seen = 0;
  let origins = 0;
  for (const each of request.data.resourceSpans) {
    const found = resourceSchema.safeParse(each);
    if (!found.success) continue;
    const resource = markedResource(found.data.resource?.attributes ?? [], options);
    for (const inner of found.data.scopeSpans) {
      const scoped = scopeSchema.safeParse(inner);
      if (!scoped.success) continue;
      origins += 1;
      seen += scoped.data.spans.length;
      if (seen > mostSpans || origins > mostOrigins)
        throw new GeodeError(
          'too_large',
          `A request may have at most ${mostSpans} spans of ${mostOrigins} origins.`,
        );
      const { name = '', version = '' } = scoped.data.scope ?? {};
      const scope = { name: shown(name, options.secrets), version: shown(version, options.secrets) };
      const origin = { resource, scope };
      for (const span of scoped.data.spans) {
        const judged = judgedSpan(span, options.secrets);
        if (judged !== undefined) spans.push({ origin, span: judged });
      }
    }
  }
  return { spans, refused: seen - spans.length };
}

/** Attributes of the sandbox, without those that only the host may set, and the host's marks. */
function markedResource(
  given: readonly unknown[],
  { owner, hostService, secrets }: JudgeOptions,
): readonly OtlpAttribute[] {
  const own = attributesOf(given, secrets).filter(({ key }) => !/^service\.(name|namespace)$/.test(key));
  const [name] = attributesOf(given, secrets).filter(({ key }) => key === 'service.name');
  const service = name?.value.stringValue?.trim() ?? '';
  const isTaken = service === '' || service.toLowerCase() === hostService.toLowerCase();
  return [
    ...own,
    ...otlpAttributes({
      'service.name': isTaken ? 'sandbox' : service,
      'service.namespace': 'geode.sandbox',
      'geode.relayed': true,
      'geode.sandbox.id': owner.sandboxId,
      'geode.user': owner.user,
      'geode.chat': owner.chat,
    }),
  ];
}

function judgedSpan(given: unknown, secrets: readonly string[]): OtlpSpan | undefined {
  const parsed = spanSchema.safeParse(given);
  if (!parsed.success) return undefined;
  const { parentSpanId, flags, name, attributes, events, links, status, ...rest } = parsed.data;
  const span: OtlpSpan = {
    ...rest,
    ...(parentSpanId !== undefined && { parentSpanId }),
    ...(flags !== undefined && { flags }),
    name: shown(name, secrets),
    attributes: attributesOf(attributes, secrets),
    events: events.slice(0, mostEvents).flatMap((each) => {
      const event = eventSchema.safeParse(each);
      if (!event.success) return [];
      const { timeUnixNano, name: title, attributes: more } = event.data;
      return [{ timeUnixNano, name: shown(title, secrets), attributes: attributesOf(more, secrets) }];
    }),
    links: links.slice(0, mostLinks).flatMap((each) => {
      const link = linkSchema.safeParse(each);
      return link.success ? [{ ...link.data, attributes: attributesOf(link.data.attributes, secrets) }] : [];
    }),
    status: {
      ...(status.code !== undefined && { code: status.code }),
      ...(status.message !== undefined && { message: shown(status.message, secrets) }),
    },
  };
  return JSON.stringify(span).length > mostSpanCharacters ? undefined : span;
}

function attributesOf(given: readonly unknown[], secrets: readonly string[]): readonly OtlpAttribute[] {
  return given.slice(0, mostAttributes).flatMap((each) => attributeOf(each, secrets, 0));
}

function attributeOf(given: unknown, secrets: readonly string[], depth: number): readonly OtlpAttribute[] {
  const parsed = attributeSchema.safeParse(given);
  if (!parsed.success) return [];
  const { key } = parsed.data;
  // Only the host writes these, wherever they stand.
  if (/^geode(\.|$)/i.test(key) || contents.test(key)) return [];
  const value = otlpValue(parsed.data.value, secrets, depth);
  return value === undefined ? [] : [{ key: shown(key, secrets), value }];
}

function otlpValue(given: unknown, secrets: readonly string[], depth: number): OtlpValue | undefined {
  const parsed = valueSchema.safeParse(given);
  if (!parsed.success || depth > deepestValue) return undefined;
  const { stringValue, boolValue, intValue, doubleValue, bytesValue, arrayValue, kvlistValue } = parsed.data;
  if (stringValue !== undefined) return { stringValue: shown(stringValue, secrets) };
  if (boolValue !== undefined) return { boolValue };
  if (intValue !== undefined) return { intValue };
  if (doubleValue !== undefined) return Number.isFinite(doubleValue) ? { doubleValue } : undefined;
  // Bytes may hide a secret from the search.
  if (bytesValue !== undefined) return { stringValue: `${Buffer.byteLength(bytesValue, 'base64')} bytes` };
  if (arrayValue !== undefined) {
    const values = arrayValue.values
      .slice(0, mostAttributes)
      .flatMap((each) => otlpValue(each, secrets, depth + 1) ?? []);
    return { arrayValue: { values } };
  }
  if (kvlistValue === undefined) return undefined;
  const values = kvlistValue.values
    .slice(0, mostAttributes)
    .flatMap((each) => attributeOf(each, secrets, depth + 1));
  return { kvlistValue: { values } };
}

/** Searched before it is cut, so that no part of a secret stays. */
function shown(text: string, secrets: readonly string[]): string {
  return withoutSecrets(text.slice(0, 4 * longestText).toWellFormed(), secrets).slice(0, longestText);
}
