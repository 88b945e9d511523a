/** What processes wrote, as it goes over the wire: without what looks like a secret, unless asked for raw. */
import { z } from 'zod';
import { problemEvent } from './problem.ts';
import { exitSchema, offsetSchema, outputEvents } from './processes.ts';

const show = z
  .enum(['redacted', 'raw'])
  .default('redacted')
  .describe('`raw` shows what looks like a secret too, and needs the scope `sandboxes:write`.');

const partShape = {
  show,
  from: offsetSchema.optional().describe('The first byte that is wanted.'),
  to: offsetSchema.optional().describe('The first byte that is not.'),
  stream: z.enum(['stdout', 'stderr']).optional(),
  since: z.coerce.number().min(0).optional().describe('Times are in ms since 1970.'),
  until: z.coerce.number().min(0).optional(),
};

export const journalListQuery = z.strictObject({ show });
export const journalFollowQuery = z.strictObject({
  show,
  from: partShape.from,
  stream: partShape.stream,
  since: partShape.since,
  tail: z.coerce.number().int().min(1).max(10_000).optional().describe('Begin with this many lines.'),
});
export const journalPageQuery = z.strictObject({
  ...partShape,
  limit_bytes: z.coerce
    .number()
    .int()
    .min(1)
    .max(8 * 1024 ** 2)
    .default(1024 ** 2),
});
export const journalTailQuery = z.strictObject({
  ...partShape,
  lines: z.coerce.number().int().min(1).max(10_000).default(100),
});
export const journalGrepQuery = z.strictObject({
  ...partShape,
  pattern: z.string().min(1).max(1000),
  regex: z
    .enum(['true', 'false'])
    .default('false')
    .transform((value) => value === 'true'),
  ignore_case: z
    .enum(['true', 'false'])
    .default('false')
    .transform((value) => value === 'true'),
  limit: z.coerce.number().int().min(1).max(10_000).optional(),
  before: z.coerce.number().int().min(0).max(100).optional(),
  after: z.coerce.number().int().min(0).max(100).optional(),
});

export const journalsSchema = z
  .object({
    journals: z.array(
      z.object({
        process_id: z.string(),
        facts: z.object({ argv: z.array(z.string()), started_at: z.number() }).optional(),
        bytes: z.number().describe('Of output that it covers, kept or lost.'),
        disk_bytes: z.number(),
        changed_at: z.number(),
        exit: exitSchema.optional(),
      }),
    ),
  })
  .meta({ id: 'Journals' });

const at = z.number().optional().describe('When the host heard of it, in ms since 1970.');
const [stdout, stderr, outputLost, exit] = outputEvents;

const recordedEvents = [
  stdout.extend({ at }),
  stderr.extend({ at }),
  outputLost.extend({ at }),
  exit.extend({ at }),
] as const;

export const journalEventSchema = z
  .discriminatedUnion('type', [...recordedEvents, problemEvent])
  .meta({ id: 'JournalEvent' });

export const journalPageSchema = z
  .object({
    events: z.array(z.discriminatedUnion('type', recordedEvents)),
    next: z.number().describe('Where the next page begins.'),
    is_last: z.boolean().describe('The record ends here, for now or, behind an exit, for good.'),
  })
  .meta({ id: 'JournalPage' });

const lineShape = { stream: z.enum(['stdout', 'stderr']), offset: z.number(), at, text: z.string() };
export const journalLinesSchema = z
  .object({ lines: z.array(z.object(lineShape)) })
  .meta({ id: 'JournalLines' });
export const journalGrepSchema = z
  .object({ lines: z.array(z.object({ ...lineShape, is_match: z.boolean() })), truncated: z.boolean() })
  .meta({ id: 'JournalMatches' });

export type JournalEvent = z.infer<typeof journalEventSchema>;
export type JournalPage = z.infer<typeof journalPageSchema>;
