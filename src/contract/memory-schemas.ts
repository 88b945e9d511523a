/** Schemas of memory's entries, in wire format. */

import { z } from 'zod';

import { findingKinds, memoryLimits } from '../seams/memory.ts';

import { decimal } from './decimal.ts';
import { endEvent, problemEvent, progressEvent } from './problem.ts';

const requiredText = z.string({ error: ({ input }) => (input === undefined ? 'is missing' : undefined) });

/** Words that are fixed paths below `/context/`, and the words for "here" and "up" in a URL. */
const reservedIds = ['search', 'ingest', 'bulk', 'files', 'categories', '.', '..'];

const idSchema = z
  .string()
  .min(1)
  .max(memoryLimits.keyLength)
  .describe('Any text, slashes too. In a path, percent-encode it or write it plainly.')
  .meta({ example: 'notes/deploy.md' });

export const newIdSchema = idSchema.refine((id) => !reservedIds.includes(id) && !id.includes('\0'), {
  error: `An id has no NUL and is none of ${reservedIds.join(', ')}`,
});

export const idParamSchema = z.object({ id: idSchema });
export const newIdParamSchema = z.object({ id: newIdSchema });

const categorySchema = requiredText
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'use lower-case letters, digits, - and _, at most 64')
  .describe('core, project, conversation, daily, scratch, or your own name.')
  .meta({ example: 'project' });

const tagSchema = z.string().min(1).max(memoryLimits.tagLength);
const tagsSchema = z.array(tagSchema).max(memoryLimits.tags);
const sourceSchema = requiredText.min(1).max(memoryLimits.sourceLength).describe('The source.');
const dateSchema = z.iso.datetime({ offset: true }).meta({ example: '2031-01-31T12:00:00Z' });

// Both schemas are closed, and `allOf` cannot extend a closed one, so they share their fields.
const contentShape = {
  content: requiredText
    .min(1)
    .max(memoryLimits.contentLength)
    .meta({ example: 'Deploys run from the release branch.' }),
  category: categorySchema,
  source: sourceSchema.meta({ example: 'https://example.com/runbook' }),
  tags: tagsSchema.optional(),
  identifiers: z
    .array(z.string().min(1).max(memoryLimits.identifierLength))
    .max(memoryLimits.identifiers)
    .optional()
    .describe('Exact search keys that rank first: symbols, error signatures, ticket numbers.'),
  valid_until: dateSchema.optional().describe('The entry is marked as expired after this date.'),
  supersedes: z.array(idSchema).max(100).optional().describe('Ids of entries that this one replaces.'),
  thread: z
    .string()
    .min(1)
    .max(memoryLimits.threadLength)
    .optional()
    .describe('The thread, such as a chat: a hit also finds its neighbours in the thread.'),
  order: z.number().optional().describe('Its position in the thread (default: last).'),
  context: z
    .string()
    .min(1)
    .max(memoryLimits.contextLength)
    .optional()
    .describe('Surrounding text that is not part of the entry, such as the question that it answers.'),
  date: dateSchema.optional().describe('When it happened; searchable by day, month and year.'),
};

export const contentSchema = z.strictObject(contentShape).meta({ id: 'Content' });

export const newEntrySchema = z
  .strictObject({
    id: newIdSchema.optional().describe('Without an id, Geode creates one and merges repeated content.'),
    ...contentShape,
  })
  .meta({ id: 'NewEntry' });

export const bulkSchema = z
  .strictObject({ entries: z.array(newEntrySchema).min(1).max(memoryLimits.entriesPerStore) })
  .meta({ id: 'Bulk' });

const entrySchema = z
  .object({
    id: z.string(),
    content: z.string(),
    category: z.string(),
    tags: z.array(z.string()),
    sources: z.array(z.string()).describe('Every source that stored this entry, oldest first.'),
    identifiers: z.array(z.string()),
    version: z.int().min(1),
    sightings: z.int().min(1).describe('How often it was stored.'),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    valid_until: z.iso.datetime().nullable(),
    thread: z.string().nullable(),
    order: z.number().nullable(),
    context: z.string().nullable(),
    date: z.iso.datetime().nullable(),
    superseded_by: z.string().nullable(),
    stale: z.enum(['expired', 'superseded']).nullable().describe('Why this may no longer be true.'),
    uses: z
      .object({
        recalled: z.int().describe('How often a search returned it.'),
        last_recalled_at: z.iso.datetime().nullable(),
        helped: z.int().describe('Attempts of `solve` that had it in their prompt, and passed.'),
        hurt: z
          .int()
          .describe('Attempts that had it in their prompt, and failed. It loses weight in search.'),
      })
      .meta({ id: 'Uses' }),
  })
  .meta({ id: 'Entry' });

const halfScoreSchema = z
  .object({ rank: z.int(), raw: z.number(), normalised: z.number(), share: z.number() })
  .meta({ id: 'HalfScore' });

const whySchema = z
  .object({
    exact: z.enum(['key', 'identifier', 'error']).nullable(),
    dense: halfScoreSchema.nullable(),
    keyword: halfScoreSchema.nullable(),
    trust: z.number().describe('The factor on its score: below 1 if it hurt more attempts than it helped.'),
    words: z.array(z.string()),
    summary: z.string().describe('The explanation in one sentence, for a model or a person.'),
  })
  .meta({ id: 'Why' });

const resultSchema = entrySchema
  .extend({ score: z.number(), why: whySchema.describe('Why the result has this rank.') })
  .meta({ id: 'Result' });

const flagSchema = z
  .enum(['true', 'false'])
  .default('false')
  .transform((value) => value === 'true');

const chatShape = {
  chat: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe(
      'Only entries stored by programs in the sandbox of this chat. Default: the memory of the user.',
    ),
};

const filterShape = {
  ...chatShape,
  category: categorySchema.optional(),
  tag: z
    .preprocess((value) => (typeof value === 'string' ? [value] : value), tagsSchema.optional())
    .describe('Repeat it to require several tags.'),
  source: sourceSchema.optional(),
  strict: flagSchema.describe('Leave out expired entries instead of marking them.'),
  limit: decimal(z.number().int().min(1).max(memoryLimits.resultsPerPage).default(10)),
  offset: decimal(z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0)),
};

export const removeQuerySchema = z.strictObject(chatShape);

export const auditQuerySchema = z.strictObject(chatShape);

export const listQuerySchema = z.strictObject(filterShape);

export const searchQuerySchema = z.strictObject({
  q: requiredText.min(1).max(memoryLimits.queryLength).meta({ example: 'how do we deploy' }),
  ...filterShape,
  fusion: z.enum(['weighted', 'rrf']).default('weighted').describe('How the two halves are joined.'),
  dense: decimal(z.number().min(0).max(1).optional()).describe('The weight of meaning in a weighted search.'),
  tokens: decimal(z.int().min(50).max(100_000).optional()).describe(
    'Also gives the results as one `block` for the prompt of a model, of about so many tokens at most.',
  ),
});

export const answerSchema = z
  .object({
    results: z.array(resultSchema),
    total: z.int().describe('The number of results on all pages.'),
    total_is: z.enum(['exact', 'capped']),
    degraded: z.array(z.enum(['dense', 'keyword'])).describe('The halves that did not answer.'),
    query_time_ms: z.number(),
    block: z
      .string()
      .optional()
      .describe(
        'The results quoted as data, each with where it comes from, nothing twice; when `tokens` is given.',
      ),
  })
  .meta({ id: 'Answer' });

export const pageSchema = z.object({ entries: z.array(entrySchema), total: z.int() }).meta({ id: 'Page' });

const versionSchema = entrySchema
  .pick({
    version: true,
    content: true,
    category: true,
    tags: true,
    sources: true,
    valid_until: true,
    updated_at: true,
  })
  .meta({ id: 'Version' });

export const getQuerySchema = z.strictObject({
  ...chatShape,
  versions: flagSchema.describe('Include earlier versions, newest first.'),
});

export const entryWithVersionsSchema = entrySchema
  .extend({ versions: z.array(versionSchema).optional() })
  .meta({ id: 'EntryWithVersions' });

export const storedSchema = z
  .object({
    id: z.string(),
    outcome: z.enum(['created', 'updated', 'merged']),
    version: z.int(),
    scrubbed: z.int().describe('How many secrets were replaced before anything was written.'),
    indexed: z
      .boolean()
      .describe('false until search by meaning finds it, a moment later. Search by words finds it at once.'),
  })
  .meta({ id: 'Stored' });

export const manyStoredSchema = z.object({ stored: z.array(storedSchema) }).meta({ id: 'ManyStored' });

/** The last event is `end` or `problem`. */
export const ingestEventSchema = z
  .discriminatedUnion('type', [
    progressEvent.extend({ stored: z.array(storedSchema) }),
    endEvent,
    problemEvent,
  ])
  .meta({ id: 'IngestEvent' });

export const filesSchema = z
  .strictObject({
    file: z
      .union([z.file(), z.array(z.file()).max(100)])
      .meta({ type: 'array', items: { type: 'string', format: 'binary' } })
      .describe(
        "Text, Markdown, code, HTML or PDF. A file's name is its id; sent again, it is the next version.",
      ),
    category: categorySchema,
    tag: z.union([tagSchema, tagsSchema]).optional(),
    prefix: z
      .string()
      .max(200)
      .optional()
      .describe('Text before each file name in the ids, such as `docs/`.'),
  })
  .meta({ id: 'Files' });

export const auditSchema = z
  .object({
    findings: z.array(
      z
        .object({
          kind: z.enum(findingKinds),
          ids: z.array(z.string()).describe('Of two entries, the one to remove comes first.'),
          evidence: z.string().describe('The reason, without the secret if it is about one.'),
          mend: z.string().describe('The command that removes the problem.'),
        })
        .meta({ id: 'Finding' }),
    ),
    checked: z.int().describe('How many entries were read.'),
    compared: z
      .enum(['words and meaning', 'words'])
      .describe(
        'How entries were compared. A large memory, or one without a model, is compared by words only.',
      ),
  })
  .meta({ id: 'MemoryAudit' });

export const categoriesSchema = z
  .object({ categories: z.array(z.object({ name: z.string(), count: z.int() })), total: z.int() })
  .meta({ id: 'Categories' });

export type WireAnswer = z.infer<typeof answerSchema>;
export type WirePage = z.infer<typeof pageSchema>;
export type Categories = z.infer<typeof categoriesSchema>;
export type WireEntry = z.infer<typeof entrySchema>;
export type WireResult = z.infer<typeof resultSchema>;
export type WireVersion = z.infer<typeof versionSchema>;
export type WireStored = z.infer<typeof storedSchema>;
export type WireContent = z.infer<typeof contentSchema>;
export type WireEntryWithVersions = z.infer<typeof entryWithVersionsSchema>;
export type WireNewEntry = z.infer<typeof newEntrySchema>;
export type WireAudit = z.infer<typeof auditSchema>;
export type IngestEvent = z.infer<typeof ingestEventSchema>;
