/** Files of a sandbox, as they go over the wire. */

import { z } from 'zod';
import { family } from './operation.ts';
import { problemEvent } from './problem.ts';
import { chatParams, removedSchema } from './sandboxes.ts';

const fileSchema = z
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

const listingSchema = z
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

const pathQuery = z.strictObject({ path: pathText, root: rootFlag });
const statQuery = pathQuery.extend({
  follow: z
    .enum(['true', 'false'])
    .default('true')
    .transform((value) => value === 'true'),
});
const writeQuery = pathQuery.extend({
  mode: z.coerce.number().int().min(0).max(0o7777).optional().describe('As a decimal number.'),
  exclusive: flag.describe('Refuses a file that is there.'),
});
const listQuery = pathQuery.extend({
  depth: z.coerce.number().int().min(1).max(64).optional(),
  limit: z.coerce.number().int().min(1).max(100_000).optional(),
});
const watchQuery = pathQuery.extend({ recursive: flag });
const searchQuery = pathQuery.extend({
  pattern: z.string().min(1).describe('A glob; `**` crosses folders.'),
  limit: z.coerce.number().int().min(1).max(100_000).optional(),
});
const grepQuery = pathQuery.extend({
  pattern: z.string().min(1),
  regex: flag,
  ignore_case: flag,
  include: z.string().min(1).optional().describe('A glob of the files to look in.'),
  limit: z.coerce.number().int().min(1).max(100_000).optional(),
});

const bodyShape = { path: pathText, root: z.boolean().optional() };
const mkdirSchema = z.strictObject({ ...bodyShape, mode: mode.optional() }).meta({ id: 'Mkdir' });
const moveSchema = z
  .strictObject({ ...bodyShape, to: pathText, overwrite: z.boolean().optional() })
  .meta({ id: 'Move' });
const chmodSchema = z.strictObject({ ...bodyShape, mode }).meta({ id: 'Chmod' });
const replaceSchema = z
  .strictObject({
    ...bodyShape,
    pattern: z.string().min(1),
    replacement: z.string(),
    regex: z.boolean().optional(),
    expect: z.int().nonnegative().optional().describe('Another number of hits changes nothing.'),
  })
  .meta({ id: 'Replace' });

const countSchema = z.object({ count: z.int() }).meta({ id: 'Count' });

const matchesSchema = z
  .object({
    matches: z.array(z.object({ path: z.string(), line: z.int(), column: z.int(), text: z.string() })),
    truncated: z.boolean(),
  })
  .meta({ id: 'Matches' });

const watchEventSchema = z
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
const saveSchema = z
  .strictObject({ path: pathText, root: rootField, to: hostPath, mode: mode.optional(), max_bytes: maxBytes })
  .meta({ id: 'Save' });
const downloadSchema = z
  .strictObject({ path: pathText, root: rootField, to: hostPath, max_bytes: maxBytes })
  .meta({ id: 'Download' });
const uploadSchema = z
  .strictObject({ from: hostPath, path: pathText, root: rootField })
  .meta({ id: 'Upload' });

export const files = family({
  list: {
    route: 'GET /api/v1/sandboxes/{chat}/files',
    tag: 'files',
    scope: 'sandboxes:read',
    summary: 'List a folder',
    params: chatParams,
    query: listQuery,
    answer: { says: 'What is in it.', schema: listingSchema },
    reaches: 'sandbox',
  },
  stat: {
    route: 'GET /api/v1/sandboxes/{chat}/files/stat',
    tag: 'files',
    scope: 'sandboxes:read',
    summary: 'Look at a file, a folder or a link',
    params: chatParams,
    query: statQuery,
    answer: { says: 'What it is.', schema: fileSchema },
    reaches: 'sandbox',
  },
  read: {
    route: 'GET /api/v1/sandboxes/{chat}/files/content',
    tag: 'files',
    scope: 'sandboxes:read',
    summary: 'Read a file, or a range of it',
    description: '`Range: bytes=…` with one range is answered with 206.',
    params: chatParams,
    query: pathQuery,
    gives: { says: 'The file.', ranges: true },
    reaches: 'sandbox',
  },
  write: {
    route: 'PUT /api/v1/sandboxes/{chat}/files/content',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: 'Write a file in one step',
    description: 'Missing folders are made. A write that is cut off leaves what was there.',
    params: chatParams,
    query: writeQuery,
    takes: { says: 'The content.' },
    answer: { says: 'The file.', schema: fileSchema },
    reaches: 'sandbox',
  },
  append: {
    route: 'POST /api/v1/sandboxes/{chat}/files/content',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: 'Append to a file',
    params: chatParams,
    query: pathQuery,
    takes: { says: 'The content.' },
    answer: { says: 'The file.', schema: fileSchema },
    reaches: 'sandbox',
  },
  archive: {
    route: 'GET /api/v1/sandboxes/{chat}/files/archive',
    tag: 'files',
    scope: 'sandboxes:read',
    summary: 'Read a folder as a tar; links travel as links',
    params: chatParams,
    query: pathQuery,
    gives: { says: 'The tar.', type: 'application/x-tar' },
    reaches: 'sandbox',
  },
  extract: {
    route: 'PUT /api/v1/sandboxes/{chat}/files/archive',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: 'Unpack a tar below a folder, whole or not at all',
    params: chatParams,
    query: pathQuery,
    takes: { says: 'The tar.', type: 'application/x-tar' },
    answer: { says: 'How many entries it had.', schema: countSchema, field: 'count' },
    reaches: 'sandbox',
  },
  search: {
    route: 'GET /api/v1/sandboxes/{chat}/files/search',
    tag: 'files',
    scope: 'sandboxes:read',
    summary: 'Find files by a glob',
    params: chatParams,
    query: searchQuery,
    answer: { says: 'What matches.', schema: listingSchema },
    reaches: 'sandbox',
  },
  grep: {
    route: 'GET /api/v1/sandboxes/{chat}/files/grep',
    tag: 'files',
    scope: 'sandboxes:read',
    summary: 'Find lines in files',
    params: chatParams,
    query: grepQuery,
    answer: { says: 'Where it is.', schema: matchesSchema },
    reaches: 'sandbox',
  },
  watch: {
    route: 'GET /api/v1/sandboxes/{chat}/files/watch',
    tag: 'files',
    scope: 'sandboxes:read',
    summary: 'Watch a file or a folder for changes',
    params: chatParams,
    query: watchQuery,
    stream: { says: 'One event for each change.', schema: watchEventSchema },
    reaches: 'sandbox',
  },
  mkdir: {
    route: 'POST /api/v1/sandboxes/{chat}/files/mkdir',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: 'Make a folder and those above it',
    params: chatParams,
    body: { says: 'The change.', schema: mkdirSchema },
    done: 'It is done.',
    reaches: 'sandbox',
  },
  move: {
    route: 'POST /api/v1/sandboxes/{chat}/files/move',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: 'Move a file or a folder',
    params: chatParams,
    body: { says: 'The change.', schema: moveSchema },
    done: 'It is done.',
    reaches: 'sandbox',
  },
  copy: {
    route: 'POST /api/v1/sandboxes/{chat}/files/copy',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: 'Copy a file or a folder',
    params: chatParams,
    body: { says: 'The change.', schema: moveSchema },
    done: 'It is done.',
    reaches: 'sandbox',
  },
  chmod: {
    route: 'POST /api/v1/sandboxes/{chat}/files/chmod',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: 'Change the mode of a file',
    params: chatParams,
    body: { says: 'The change.', schema: chmodSchema },
    done: 'It is done.',
    reaches: 'sandbox',
  },
  replace: {
    route: 'POST /api/v1/sandboxes/{chat}/files/replace',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: 'Replace text in a file, all at once',
    params: chatParams,
    body: { says: 'What by what.', schema: replaceSchema },
    answer: { says: 'How often.', schema: countSchema, field: 'count' },
    reaches: 'sandbox',
  },
  remove: {
    route: 'DELETE /api/v1/sandboxes/{chat}/files',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: 'Remove a file, or a folder with all that is in it',
    params: chatParams,
    query: pathQuery,
    answer: { says: 'Whether there was something.', schema: removedSchema, field: 'removed' },
    reaches: 'sandbox',
  },
  save: {
    route: 'POST /api/v1/sandboxes/{chat}/files/save',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: "Copy a file out of a sandbox, to the host's machine; only on its own socket",
    description: 'A file that is there already is refused. Holes stay holes; a failure leaves nothing.',
    params: chatParams,
    body: { says: 'Which, and where to.', schema: saveSchema },
    answer: { says: 'How many entries.', schema: countSchema, field: 'count' },
    reaches: 'sandbox',
  },
  download: {
    route: 'POST /api/v1/sandboxes/{chat}/files/download',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: "Copy a folder out of a sandbox, to the host's machine; only on its own socket",
    description: 'Whole or not at all, into a folder that is not there yet. Holes of files stay holes.',
    params: chatParams,
    body: { says: 'Which, and where to.', schema: downloadSchema },
    answer: { says: 'How many entries.', schema: countSchema, field: 'count' },
    reaches: 'sandbox',
  },
  upload: {
    route: 'POST /api/v1/sandboxes/{chat}/files/upload',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: "Copy a file or a folder of the host's machine into a sandbox; only on its own socket",
    params: chatParams,
    body: { says: 'Which, and where to.', schema: uploadSchema },
    answer: { says: 'How many entries.', schema: countSchema, field: 'count' },
    reaches: 'sandbox',
  },
});
