/** The output of processes, in wire format: secrets are hidden unless the caller asks for raw output. */

import { z } from 'zod';
import { family } from './operation.ts';
import { problemEvent } from './problem.ts';
import { exitSchema, offsetSchema, outputEvents, processParams } from './processes.ts';
import { chatParams } from './sandboxes.ts';

const show = z
  .enum(['redacted', 'raw'])
  .default('redacted')
  .describe('`raw` does not hide secrets and needs the scope `sandboxes:write`.');

const partShape = {
  show,
  from: offsetSchema.optional().describe('Offset of the first byte.'),
  to: offsetSchema.optional().describe('Offset after the last byte.'),
  stream: z.enum(['stdout', 'stderr']).optional(),
  since: z.coerce.number().min(0).optional().describe('Times are in ms since 1970.'),
  until: z.coerce.number().min(0).optional(),
};

const journalListQuery = z.strictObject({ show });
const journalFollowQuery = z.strictObject({
  show,
  from: partShape.from,
  stream: partShape.stream,
  since: partShape.since,
  tail: z.coerce.number().int().min(1).max(10_000).optional().describe('Start with this many lines.'),
});
const journalPageQuery = z.strictObject({
  ...partShape,
  limit_bytes: z.coerce
    .number()
    .int()
    .min(1)
    .max(8 * 1024 ** 2)
    .default(1024 ** 2),
});
const journalTailQuery = z.strictObject({
  ...partShape,
  lines: z.coerce.number().int().min(1).max(10_000).default(100),
});
const journalGrepQuery = z.strictObject({
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

const journalsSchema = z
  .object({
    journals: z.array(
      z.object({
        process_id: z.string(),
        facts: z.object({ argv: z.array(z.string()), started_at: z.number() }).optional(),
        bytes: z.number().describe('Bytes of output that it covers, kept or lost.'),
        disk_bytes: z.number(),
        changed_at: z.number(),
        exit: exitSchema.optional(),
      }),
    ),
  })
  .meta({ id: 'Journals' });

const at = z.number().optional().describe('When the host received it, in ms since 1970.');
const [stdout, stderr, outputLost, exit] = outputEvents;

const recordedEvents = [
  stdout.extend({ at }),
  stderr.extend({ at }),
  outputLost.extend({ at }),
  exit.extend({ at }),
] as const;

const journalEventSchema = z
  .discriminatedUnion('type', [...recordedEvents, problemEvent])
  .meta({ id: 'JournalEvent' });

const journalPageSchema = z
  .object({
    events: z.array(z.discriminatedUnion('type', recordedEvents)),
    next: z.number().describe('Offset of the next page.'),
    is_last: z.boolean().describe('The end of the journal: so far, or finally if an exit precedes it.'),
  })
  .meta({ id: 'JournalPage' });

const lineShape = { stream: z.enum(['stdout', 'stderr']), offset: z.number(), at, text: z.string() };
const journalLinesSchema = z.object({ lines: z.array(z.object(lineShape)) }).meta({ id: 'JournalLines' });
const journalGrepSchema = z
  .object({ lines: z.array(z.object({ ...lineShape, is_match: z.boolean() })), truncated: z.boolean() })
  .meta({ id: 'JournalMatches' });

export const journals = family({
  list: {
    route: 'GET /api/v1/sandboxes/{chat}/journals',
    tag: 'journals',
    scope: 'sandboxes:read',
    summary: 'List the journals of a sandbox, newest first',
    params: chatParams,
    query: journalListQuery,
    answer: { description: 'One journal for each process.', schema: journalsSchema, field: 'journals' },
    reaches: 'sandbox',
  },
  page: {
    route: 'GET /api/v1/sandboxes/{chat}/journals/{process}/page',
    tag: 'journals',
    scope: 'sandboxes:read',
    summary: 'Read a page of a journal, from any offset or time',
    params: processParams,
    query: journalPageQuery,
    answer: { description: 'The page.', schema: journalPageSchema },
    reaches: 'sandbox',
  },
  tail: {
    route: 'GET /api/v1/sandboxes/{chat}/journals/{process}/tail',
    tag: 'journals',
    scope: 'sandboxes:read',
    summary: 'Read the last lines of a journal',
    params: processParams,
    query: journalTailQuery,
    answer: { description: 'The lines, oldest first.', schema: journalLinesSchema, field: 'lines' },
    reaches: 'sandbox',
  },
  grep: {
    route: 'GET /api/v1/sandboxes/{chat}/journals/{process}/grep',
    tag: 'journals',
    scope: 'sandboxes:read',
    summary: 'Find lines in a journal',
    params: processParams,
    query: journalGrepQuery,
    answer: { description: 'The lines and their context.', schema: journalGrepSchema },
    reaches: 'sandbox',
  },
  follow: {
    route: 'GET /api/v1/sandboxes/{chat}/journals/{process}/follow',
    tag: 'journals',
    scope: 'sandboxes:read',
    summary: 'Stream a journal until the process exits',
    description: 'The id of each event is the offset of the next byte.',
    params: processParams,
    query: journalFollowQuery,
    stream: {
      description: 'The last event is `exit` or `problem`.',
      schema: journalEventSchema,
      resumes: true,
      again: ['exit'],
    },
    reaches: 'sandbox',
  },
});
