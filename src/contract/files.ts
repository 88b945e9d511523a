/** Files of a sandbox, in wire format. */

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
    target: z.string().nullable().describe('The target of a symlink, as stored.'),
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
  exclusive: flag.describe('Refuse to overwrite a file.'),
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
  include: z.string().min(1).optional().describe('A glob of the files to search.'),
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
    expect: z.int().nonnegative().optional().describe('Change nothing if the number of matches differs.'),
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
  .describe("A path on the host's machine.")
  .meta({ example: '/home/me/notes' });
const rootField = z.boolean().optional();
const maxBytes = z
  .int()
  .nonnegative()
  .optional()
  .describe('Maximum size there. Default: the disk limit of the sandbox.');
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
    answer: { description: 'Its entries.', schema: listingSchema },
    reaches: 'sandbox',
  },
  stat: {
    route: 'GET /api/v1/sandboxes/{chat}/files/stat',
    tag: 'files',
    scope: 'sandboxes:read',
    summary: 'Get facts about a file, folder or link',
    params: chatParams,
    query: statQuery,
    answer: { description: 'Its type, size, mode and times.', schema: fileSchema },
    reaches: 'sandbox',
  },
  read: {
    route: 'GET /api/v1/sandboxes/{chat}/files/content',
    tag: 'files',
    scope: 'sandboxes:read',
    summary: 'Read a file, or a range of it',
    description: 'One `Range: bytes=…` is answered with 206.',
    params: chatParams,
    query: pathQuery,
    gives: { description: 'The file.', ranges: true },
    reaches: 'sandbox',
  },
  write: {
    route: 'PUT /api/v1/sandboxes/{chat}/files/content',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: 'Write a file in one step',
    description: 'Creates missing folders. An interrupted write keeps the old file.',
    params: chatParams,
    query: writeQuery,
    takes: { description: 'The content.' },
    answer: { description: 'The file.', schema: fileSchema },
    reaches: 'sandbox',
  },
  append: {
    route: 'POST /api/v1/sandboxes/{chat}/files/content',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: 'Append to a file',
    params: chatParams,
    query: pathQuery,
    takes: { description: 'The content.' },
    answer: { description: 'The file.', schema: fileSchema },
    reaches: 'sandbox',
  },
  archive: {
    route: 'GET /api/v1/sandboxes/{chat}/files/archive',
    tag: 'files',
    scope: 'sandboxes:read',
    summary: 'Read a folder as a tar; keeps links as links',
    params: chatParams,
    query: pathQuery,
    gives: { description: 'The tar.', type: 'application/x-tar' },
    reaches: 'sandbox',
  },
  extract: {
    route: 'PUT /api/v1/sandboxes/{chat}/files/archive',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: 'Unpack a tar into a folder, all or nothing',
    params: chatParams,
    query: pathQuery,
    takes: { description: 'The tar.', type: 'application/x-tar' },
    answer: { description: 'The number of entries.', schema: countSchema, field: 'count' },
    reaches: 'sandbox',
  },
  search: {
    route: 'GET /api/v1/sandboxes/{chat}/files/search',
    tag: 'files',
    scope: 'sandboxes:read',
    summary: 'Find files by glob',
    params: chatParams,
    query: searchQuery,
    answer: { description: 'The matching files.', schema: listingSchema },
    reaches: 'sandbox',
  },
  grep: {
    route: 'GET /api/v1/sandboxes/{chat}/files/grep',
    tag: 'files',
    scope: 'sandboxes:read',
    summary: 'Find lines in files',
    params: chatParams,
    query: grepQuery,
    answer: { description: 'The matching lines.', schema: matchesSchema },
    reaches: 'sandbox',
  },
  watch: {
    route: 'GET /api/v1/sandboxes/{chat}/files/watch',
    tag: 'files',
    scope: 'sandboxes:read',
    summary: 'Watch a file or a folder for changes',
    params: chatParams,
    query: watchQuery,
    stream: { description: 'One event for each change.', schema: watchEventSchema },
    reaches: 'sandbox',
  },
  mkdir: {
    route: 'POST /api/v1/sandboxes/{chat}/files/mkdir',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: 'Create a folder and its parents',
    params: chatParams,
    body: { description: 'The change.', schema: mkdirSchema },
    done: 'It is done.',
    reaches: 'sandbox',
  },
  move: {
    route: 'POST /api/v1/sandboxes/{chat}/files/move',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: 'Move a file or a folder',
    params: chatParams,
    body: { description: 'The change.', schema: moveSchema },
    done: 'It is done.',
    reaches: 'sandbox',
  },
  copy: {
    route: 'POST /api/v1/sandboxes/{chat}/files/copy',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: 'Copy a file or a folder',
    params: chatParams,
    body: { description: 'The change.', schema: moveSchema },
    done: 'It is done.',
    reaches: 'sandbox',
  },
  chmod: {
    route: 'POST /api/v1/sandboxes/{chat}/files/chmod',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: 'Change the mode of a file',
    params: chatParams,
    body: { description: 'The change.', schema: chmodSchema },
    done: 'It is done.',
    reaches: 'sandbox',
  },
  replace: {
    route: 'POST /api/v1/sandboxes/{chat}/files/replace',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: 'Replace text in a file in one step',
    params: chatParams,
    body: { description: 'The old and the new text.', schema: replaceSchema },
    answer: { description: 'The number of replacements.', schema: countSchema, field: 'count' },
    reaches: 'sandbox',
  },
  remove: {
    route: 'DELETE /api/v1/sandboxes/{chat}/files',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: 'Remove a file, or a folder with its content',
    params: chatParams,
    query: pathQuery,
    answer: { description: 'Whether there was a file.', schema: removedSchema, field: 'removed' },
    reaches: 'sandbox',
  },
  save: {
    route: 'POST /api/v1/sandboxes/{chat}/files/save',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: "Copy a file to the host's machine (local socket only)",
    description: 'Refuses to overwrite. Keeps sparse files sparse; a failure leaves nothing.',
    params: chatParams,
    body: { description: 'The file and the target.', schema: saveSchema },
    answer: { description: 'The number of entries.', schema: countSchema, field: 'count' },
    reaches: 'sandbox',
  },
  download: {
    route: 'POST /api/v1/sandboxes/{chat}/files/download',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: "Copy a folder to the host's machine (local socket only)",
    description: 'All or nothing, into a new folder. Keeps sparse files sparse.',
    params: chatParams,
    body: { description: 'The folder and the target.', schema: downloadSchema },
    answer: { description: 'The number of entries.', schema: countSchema, field: 'count' },
    reaches: 'sandbox',
  },
  upload: {
    route: 'POST /api/v1/sandboxes/{chat}/files/upload',
    tag: 'files',
    scope: 'sandboxes:write',
    summary: "Copy files of the host's machine into a sandbox (local socket only)",
    params: chatParams,
    body: { description: 'The source and the target.', schema: uploadSchema },
    answer: { description: 'The number of entries.', schema: countSchema, field: 'count' },
    reaches: 'sandbox',
  },
});
