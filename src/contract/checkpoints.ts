/** Checkpoints of running sandboxes, in wire format. */

import { z } from 'zod';
import { family } from './operation.ts';
import { chatParams, chatSchema, removedSchema } from './sandboxes.ts';

const name = z.string().min(1).max(64).meta({ example: 'ready' });

const newCheckpointSchema = z.strictObject({ name: name.optional() }).meta({ id: 'NewCheckpoint' });

const checkpointSchema = z
  .object({
    name: z.string(),
    taken_at: z.number(),
    memory_bytes: z.number().describe('Size of the saved memory on disk.'),
    file_bytes: z
      .number()
      .describe('Bytes of files and journals added on disk; the rest is shared with earlier checkpoints.'),
    format: z.string().describe('The program that can read the memory.').meta({ example: 'gVisor 1.0 x64' }),
  })
  .meta({ id: 'Checkpoint' });

const checkpointsSchema = z
  .object({ checkpoints: z.array(checkpointSchema), disk_bytes: z.number() })
  .meta({ id: 'Checkpoints' });

export const checkpoints = family({
  take: {
    route: 'POST /api/v1/sandboxes/{chat}/checkpoints',
    tag: 'checkpoints',
    scope: 'sandboxes:write',
    summary: 'Save the processes, memory and files of a running sandbox',
    description:
      'The sandbox is frozen for a moment and goes on. What it has open through the hatch ends. Needs gVisor.',
    params: chatParams,
    body: { description: 'The name. Default: a number.', schema: newCheckpointSchema },
    answer: { description: 'The checkpoint.', schema: checkpointSchema, status: 201 },
    reaches: 'sandbox',
  },
  list: {
    route: 'GET /api/v1/sandboxes/{chat}/checkpoints',
    tag: 'checkpoints',
    scope: 'sandboxes:read',
    summary: 'List checkpoints',
    params: chatParams,
    answer: { description: 'Oldest first.', schema: checkpointsSchema },
    reaches: 'sandbox',
  },
  remove: {
    route: 'DELETE /api/v1/sandboxes/{chat}/checkpoints/{checkpoint}',
    tag: 'checkpoints',
    scope: 'sandboxes:write',
    summary: 'Remove a checkpoint',
    params: z.object({ chat: chatSchema, checkpoint: name }),
    answer: { description: 'Whether there was such a checkpoint.', schema: removedSchema, field: 'removed' },
    reaches: 'sandbox',
  },
});
