/** Decides which spans of a sandbox are sent on, and in which form. The host writes the marks of their origin. */
import { z } from 'zod';
import { GeodeError } from '../base/errors.ts';
import { spellingsOf, withoutSpellings } from '../base/secret-shapes.ts';
import type { RelayOwner } from '../seams/telemetry.ts';
import {
  type OtlpAttribute,
  type OtlpSpan,
  type OtlpValue,
  originOf,
  otlpAttributes,
  spanOf,
  type WrittenSpan,
} from './otlp.ts';

export interface Judged {
  readonly spans: readonly WrittenSpan[];
  /** Spans that are not valid or too large, or whose origin is too large. */
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
/** A span may have this many bytes, and so may its resource with the scope. */
const mostBytes = 16 * 1024;
/** Attributes, values in values, events and links of a request. */
const mostParts = 50_000;
/** Attributes with the text of prompts, answers and tool calls, by the GenAI conventions. */
const contents =
  /^(gen_ai\.(input\.messages|output\.messages|system_instructions|prompt|completion|tool\.call\.(arguments|result)|tool\.definitions)|user_prompt|tool_input|tool_output|response\.model_output)/;

/** The elements of a list are checked after its length. */
const list = z
  .custom<readonly unknown[]>((given) => Array.isArray(given))
  .optional()
  .default([]);
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
const wholeNumber = z.number().refine(Number.isInteger).transform(BigInt);
const integer = z.union([
  z
    .string()
    .regex(/^-?\d{1,20}$/)
    .transform(BigInt),
  wholeNumber,
]);
/** A collector that reads strictly refuses the whole request because of one number that does not fit. */
const int64 = integer.refine((number) => BigInt.asIntN(64, number) === number).transform(String);
const time = integer.refine((number) => BigInt.asUintN(64, number) === number).transform(String);
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
  intValue: int64.optional(),
  doubleValue: z.number().optional(),
  bytesValue: z.string().optional(),
  arrayValue: z.object({ values: list }).optional(),
  kvlistValue: z.object({ values: list }).optional(),
});

/** Throws `invalid_input` for something else than a request, and `too_large` for too many spans or parts of them. */
export function judgeSpans(given: unknown, options: JudgeOptions): Judged {
  const request = requestSchema.safeParse(given);
  if (!request.success)
    throw new GeodeError(
      'invalid_input',
      'The request is not an OTLP trace request: resourceSpans is no list.',
    );
  const { resourceSpans } = request.data;
  const cleaner = new Cleaner(options.secrets);
  const spans: WrittenSpan[] = [];
  let seen = 0;
  let origins = 0;
  checkOrigins(resourceSpans.length);
  for (const each of resourceSpans) {
    const found = resourceSchema.safeParse(each);
    if (!found.success) continue;
    const { resource, scopeSpans } = found.data;
    origins += scopeSpans.length;
    checkOrigins(origins);
    const marked = markedResource(cleaner.attributes(resource?.attributes ?? []), options);
    for (const inner of scopeSpans) {
      const scoped = scopeSchema.safeParse(inner);
      if (!scoped.success) continue;
      seen += scoped.data.spans.length;
      if (seen > mostSpans) throw tooMany(`${mostSpans} spans`);
      const { name = '', version = '' } = scoped.data.scope ?? {};
      const origin = originOf(marked, { name: cleaner.text(name), version: cleaner.text(version) });
      if (origin.bytes > mostBytes) continue;
      for (const span of scoped.data.spans) {
        const judged = judgedSpan(span, cleaner);
        const written = judged && spanOf(origin, judged);
        if (written !== undefined && written.bytes <= mostBytes) spans.push(written);
      }
    }
  }
  return { spans, refused: seen - spans.length };
}

function checkOrigins(origins: number): void {
  if (origins > mostOrigins) throw tooMany(`spans of ${mostOrigins} origins`);
}

function tooMany(most: string): GeodeError {
  return new GeodeError('too_large', `A request may have at most ${most}.`);
}

/** Attributes of the sandbox, without those that only the host may set, and the host's marks. */
function markedResource(
  given: readonly OtlpAttribute[],
  { owner, hostService }: JudgeOptions,
): readonly OtlpAttribute[] {
  const own = given.filter(({ key }) => !/^service\.(name|namespace)$/.test(key));
  const service = given.find(({ key }) => key === 'service.name')?.value.stringValue?.trim() ?? '';
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

function judgedSpan(given: unknown, cleaner: Cleaner): OtlpSpan | undefined {
  const parsed = spanSchema.safeParse(given);
  if (!parsed.success) return undefined;
  const { parentSpanId, flags, name, attributes, events, links, status, ...rest } = parsed.data;
  return {
    ...rest,
    ...(parentSpanId !== undefined && { parentSpanId }),
    ...(flags !== undefined && { flags }),
    name: cleaner.text(name),
    attributes: cleaner.attributes(attributes),
    events: cleaner.parts(events, mostEvents).flatMap((each) => {
      const event = eventSchema.safeParse(each);
      if (!event.success) return [];
      const { timeUnixNano, name: title, attributes: more } = event.data;
      return [{ timeUnixNano, name: cleaner.text(title), attributes: cleaner.attributes(more) }];
    }),
    links: cleaner.parts(links, mostLinks).flatMap((each) => {
      const link = linkSchema.safeParse(each);
      return link.success ? [{ ...link.data, attributes: cleaner.attributes(link.data.attributes) }] : [];
    }),
    status: {
      ...(status.code !== undefined && { code: status.code }),
      ...(status.message !== undefined && { message: cleaner.text(status.message) }),
    },
  };
}

/** Reads the texts and attributes of one request, and counts them. */
class Cleaner {
  readonly #spellings: readonly string[];
  #parts = 0;

  constructor(secrets: readonly string[]) {
    this.#spellings = spellingsOf(secrets);
  }

  /** Searched before it is cut, so that no part of a secret stays. */
  text(text: string): string {
    const searched = text.slice(0, 4 * longestText).toWellFormed();
    return withoutSpellings(searched, this.#spellings).slice(0, longestText);
  }

  /** The first elements of a list. Throws `too_large` when the request has too many in all. */
  parts(given: readonly unknown[], most: number): readonly unknown[] {
    const first = given.slice(0, most);
    this.#parts += first.length;
    if (this.#parts > mostParts) throw tooMany(`${mostParts} attributes, values, events and links`);
    return first;
  }

  attributes(given: readonly unknown[], depth = 0): readonly OtlpAttribute[] {
    return this.parts(given, mostAttributes).flatMap((each) => this.#attribute(each, depth));
  }

  #attribute(given: unknown, depth: number): readonly OtlpAttribute[] {
    const parsed = attributeSchema.safeParse(given);
    if (!parsed.success) return [];
    const { key } = parsed.data;
    // Only the host writes these, wherever they stand.
    if (/^geode(\.|$)/i.test(key) || contents.test(key)) return [];
    const value = this.#value(parsed.data.value, depth);
    return value === undefined ? [] : [{ key: this.text(key), value }];
  }

  #value(given: unknown, depth: number): OtlpValue | undefined {
    const parsed = valueSchema.safeParse(given);
    if (!parsed.success || depth > deepestValue) return undefined;
    const { stringValue, boolValue, intValue, doubleValue, bytesValue, arrayValue, kvlistValue } =
      parsed.data;
    if (stringValue !== undefined) return { stringValue: this.text(stringValue) };
    if (boolValue !== undefined) return { boolValue };
    if (intValue !== undefined) return { intValue };
    if (doubleValue !== undefined) return Number.isFinite(doubleValue) ? { doubleValue } : undefined;
    // Bytes may hide a secret from the search.
    if (bytesValue !== undefined) return { stringValue: `${Buffer.byteLength(bytesValue, 'base64')} bytes` };
    if (arrayValue !== undefined) {
      const values = this.parts(arrayValue.values, mostAttributes).flatMap(
        (each) => this.#value(each, depth + 1) ?? [],
      );
      return { arrayValue: { values } };
    }
    if (kvlistValue === undefined) return undefined;
    return { kvlistValue: { values: this.attributes(kvlistValue.values, depth + 1) } };
  }
}
