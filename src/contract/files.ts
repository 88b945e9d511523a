/** Files of a sandbox, as they go over the wire. */
import { z } from 'zod';
import { problemEvent } from './problem.ts';

export const fileSchema = z
  .object({
    path: z.string(),
    name: z.string(),
    type: z.enum(['file', 'directory', 'symlink', 'socket', 'pipe', 'device']),
    size: z.number(),
    mode: z.int(),
    mtime_ms: z.number(),
    uid: z.int(),
    gid: z.int(),
    target: z.string().nullable().describe('Where a symlink points, as written in it.'),
  })
  .meta({ id: 'File' });

export const listingSchema = z
  .object({ entries: z.array(fileSchema), truncated: z.boolean() })
  .meta({ id: 'Listing' });

const flag = z
  .enum(['true', 'false'])
  .default('false')
  .transform((value) => value === 'true');

const pathText = z.string().min(1).meta({ example: 'notes/todo.txt' });
const rootFlag = flag.describe(
  "true: a path of the sandbox's whole file system; else of its workspace alone.",
);
const mode = z.int().min(0).max(0o7777);

export const pathQuery = z.strictObject({ path: pathText, root: rootFlag });
export const statQuery = pathQuery.extend({
  follow: z
    .enum(['true', 'false'])
    .default('true')
    .transform((value) => value === 'true'),
});
export const writeQuery = pathQuery.extend({
  mode: z.coerce.number().int().min(0).max(0o7777).optional().describe('As a decimal number.'),
  exclusive: flag.describe('Refuses a file that is there.'),
});
export const listQuery = pathQuery.extend({
  depth: z.coerce.number().int().min(1).max(64).optional(),
  limit: z.coerce.number().int().min(1).max(100_000).optional(),
});
export const watchQuery = pathQuery.extend({ recursive: flag });
export const searchQuery = pathQuery.extend({
  pattern: z.string().min(1).describe('A glob; `**` crosses folders.'),
  limit: z.coerce.number().int().min(1).max(100_000).optional(),
});
export const grepQuery = pathQuery.extend({
  pattern: z.string().min(1),
  regex: flag,
  ignore_case: flag,
  include: z.string().min(1).optional().describe('A glob of the files to look in.'),
  limit: z.coerce.number().int().min(1).max(100_000).optional(),
});

const bodyShape = { path: pathText, root: z.boolean().optional() };
export const mkdirSchema = z.strictObject({ ...bodyShape, mode: mode.optional() }).meta({ id: 'Mkdir' });
export const moveSchema = z
  .strictObject({ ...bodyShape, to: pathText, overwrite: z.boolean().optional() })
  .meta({ id: 'Move' });
export const chmodSchema = z.strictObject({ ...bodyShape, mode }).meta({ id: 'Chmod' });
export const replaceSchema = z
  .strictObject({
    ...bodyShape,
    pattern: z.string().min(1),
    replacement: z.string(),
    regex: z.boolean().optional(),
    expect: z.int().nonnegative().optional().describe('Another number of hits changes nothing.'),
  })
  .meta({ id: 'Replace' });

export const countSchema = z.object({ count: z.int() }).meta({ id: 'Count' });

export const matchesSchema = z
  .object({
    matches: z.array(z.object({ path: z.string(), line: z.int(), column: z.int(), text: z.string() })),
    truncated: z.boolean(),
  })
  .meta({ id: 'Matches' });

export const watchEventSchema = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('create'), path: z.string() }),
    z.object({ type: z.literal('modify'), path: z.string() }),
    z.object({ type: z.literal('remove'), path: z.string() }),
    z.object({ type: z.literal('move'), path: z.string() }),
    z.object({ type: z.literal('overflow'), path: z.string() }).describe('Some changes were missed.'),
    problemEvent,
  ])
  .meta({ id: 'WatchEvent' });

const hostPath = z
  .string()
  .startsWith('/')
  .describe('Of the machine of the host.')
  .meta({ example: '/home/me/notes' });
const rootField = z.boolean().optional();
const maxBytes = z
  .int()
  .nonnegative()
  .optional()
  .describe('Most that it may take there; else the disk limit of the sandbox.');
export const saveSchema = z
  .strictObject({ path: pathText, root: rootField, to: hostPath, mode: mode.optional(), max_bytes: maxBytes })
  .meta({ id: 'Save' });
export const downloadSchema = z
  .strictObject({ path: pathText, root: rootField, to: hostPath, max_bytes: maxBytes })
  .meta({ id: 'Download' });
export const uploadSchema = z
  .strictObject({ from: hostPath, path: pathText, root: rootField })
  .meta({ id: 'Upload' });
