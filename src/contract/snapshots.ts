/** Workspaces as they were, as they go over the wire. */
import { z } from 'zod';
import { endEvent, problemEvent } from './problem.ts';
import { chatSchema } from './sandboxes.ts';

const name = z.string().min(1).max(64).meta({ example: 'before' });
export const snapshotParams = z.object({ chat: chatSchema, snapshot: name });

export const takeSchema = z.strictObject({ name: name.optional() }).meta({ id: 'Take' });

export const snapshotSchema = z
  .object({
    name: z.string(),
    kind: z.enum(['kept', 'undo']),
    taken_at: z.number(),
    files: z.int(),
    folders: z.int(),
    links: z.int(),
    bytes: z.number(),
    added_bytes: z.number().describe('What it added to the disk; the rest it shares with earlier ones.'),
    left_out: z.object({ special: z.int(), unreadable: z.int() }),
  })
  .meta({ id: 'Snapshot' });

export const snapshotsSchema = z
  .object({ snapshots: z.array(snapshotSchema), disk_bytes: z.number() })
  .meta({ id: 'Snapshots' });

export const restoredSchema = z
  .object({ written: z.int(), removed: z.int(), changed: z.int(), left: z.int() })
  .meta({ id: 'Restored' });

export const diffQuery = z.strictObject({
  to: name.optional().describe('A later snapshot; else the workspace as it is now.'),
});
export const textDiffQuery = diffQuery.extend({
  path: z.string().min(1),
  path_base64: z.base64().optional().describe('The bytes of a path that is not UTF-8.'),
});
export const textDiffSchema = z
  .object({ diff: z.string().describe('A unified diff; empty when nothing differs.') })
  .meta({ id: 'TextDiff' });

const entry = z
  .object({
    type: z.enum(['file', 'directory', 'symlink', 'special', 'unreadable']),
    size: z.number(),
    mode: z.int(),
  })
  .optional();

export const diffEventSchema = z
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

export type DiffEvent = z.infer<typeof diffEventSchema>;
