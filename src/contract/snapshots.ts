/** Snapshots of workspaces, in wire format. */

import { z } from 'zod';
import { family } from './operation.ts';
import { endEvent, problemEvent } from './problem.ts';
import { chatParams, chatSchema, removedSchema } from './sandboxes.ts';

const name = z.string().min(1).max(64).meta({ example: 'before' });
const snapshotParams = z.object({ chat: chatSchema, snapshot: name });

const takeSchema = z.strictObject({ name: name.optional() }).meta({ id: 'Take' });

const snapshotSchema = z
  .object({
    name: z.string(),
    kind: z.enum(['kept', 'undo']),
    taken_at: z.number(),
    files: z.int(),
    folders: z.int(),
    links: z.int(),
    bytes: z.number(),
    added_bytes: z.number().describe('Bytes added on disk; the rest is shared with earlier snapshots.'),
    left_out: z.object({ special: z.int(), unreadable: z.int() }),
  })
  .meta({ id: 'Snapshot' });

const snapshotsSchema = z
  .object({ snapshots: z.array(snapshotSchema), disk_bytes: z.number() })
  .meta({ id: 'Snapshots' });

const restoredSchema = z
  .object({ written: z.int(), removed: z.int(), changed: z.int(), left: z.int() })
  .meta({ id: 'Restored' });

const diffQuery = z.strictObject({
  to: name.optional().describe('A later snapshot. Default: the current workspace.'),
});
const textDiffQuery = diffQuery.extend({
  path: z.string().min(1),
  path_base64: z.base64().optional().describe('The bytes of a path that is not UTF-8.'),
});
const textDiffSchema = z
  .object({ diff: z.string().describe('A unified diff; empty if the files are equal.') })
  .meta({ id: 'TextDiff' });

const entry = z
  .object({
    type: z.enum(['file', 'directory', 'symlink', 'special', 'unreadable']),
    size: z.number(),
    mode: z.int(),
  })
  .optional();

const diffEventSchema = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('change'),
      path: z.string(),
      path_base64: z.string().optional().describe('The bytes of a path that is not UTF-8.'),
      change: z.enum(['added', 'removed', 'modified', 'mode', 'type']),
      before: entry,
      after: entry,
    }),
    endEvent,
    problemEvent,
  ])
  .meta({ id: 'DiffEvent' });

export const snapshots = family({
  take: {
    route: 'POST /api/v1/sandboxes/{chat}/snapshots',
    tag: 'snapshots',
    scope: 'sandboxes:write',
    summary: 'Take a snapshot of the workspace',
    params: chatParams,
    body: { description: 'The name. Default: a number.', schema: takeSchema },
    answer: { description: 'The snapshot.', schema: snapshotSchema, status: 201 },
    reaches: 'sandbox',
  },
  list: {
    route: 'GET /api/v1/sandboxes/{chat}/snapshots',
    tag: 'snapshots',
    scope: 'sandboxes:write',
    summary: 'List snapshots and undo points',
    params: chatParams,
    answer: { description: 'Oldest first.', schema: snapshotsSchema },
    reaches: 'sandbox',
  },
  remove: {
    route: 'DELETE /api/v1/sandboxes/{chat}/snapshots/{snapshot}',
    tag: 'snapshots',
    scope: 'sandboxes:write',
    summary: 'Remove a snapshot',
    params: snapshotParams,
    answer: { description: 'Whether there was such a snapshot.', schema: removedSchema, field: 'removed' },
    reaches: 'sandbox',
  },
  restore: {
    route: 'POST /api/v1/sandboxes/{chat}/snapshots/{snapshot}/restore',
    tag: 'snapshots',
    scope: 'sandboxes:write',
    summary: 'Restore the workspace from a snapshot',
    params: snapshotParams,
    answer: { description: 'The changes made.', schema: restoredSchema },
    reaches: 'sandbox',
  },
  diff: {
    route: 'GET /api/v1/sandboxes/{chat}/snapshots/{snapshot}/diff',
    tag: 'snapshots',
    scope: 'sandboxes:write',
    summary: 'Compare a snapshot with a later one or the current files',
    params: snapshotParams,
    query: diffQuery,
    stream: { description: 'One event for each change.', schema: diffEventSchema },
    reaches: 'sandbox',
  },
  textDiff: {
    route: 'GET /api/v1/sandboxes/{chat}/snapshots/{snapshot}/text-diff',
    tag: 'snapshots',
    scope: 'sandboxes:write',
    summary: 'Show the changes of one file',
    params: snapshotParams,
    query: textDiffQuery,
    answer: { description: 'A unified diff.', schema: textDiffSchema, field: 'diff' },
    reaches: 'sandbox',
  },
  undo: {
    route: 'POST /api/v1/sandboxes/{chat}/undo',
    tag: 'snapshots',
    scope: 'sandboxes:write',
    summary: 'Undo the file changes of the last undoable command',
    params: chatParams,
    answer: { description: 'The changes made.', schema: restoredSchema },
    reaches: 'sandbox',
  },
});
