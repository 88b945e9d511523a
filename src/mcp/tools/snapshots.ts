/** Snapshots of workspaces. */
import { z } from 'zod';
import { defineTool, type Tool } from '../tool.ts';
import { chat } from './inputs.ts';

const mostListed = 200;

const take = defineTool({
  name: 'snapshot_take',
  title: 'Take a snapshot',
  description: 'Saves the current files of the workspace of a chat.',
  effect: 'changes',
  input: z.strictObject({
    chat,
    name: z.string().optional().describe('Letters, digits, `.`, `_` and `-`; default: a number.'),
  }),
  run: ({ chat: sandbox, name }, { client, signal }) =>
    client.sandboxes.of(sandbox).snapshots.take({ ...(name !== undefined && { name }), signal }),
});

const list = defineTool({
  name: 'snapshot_list',
  title: 'List snapshots',
  description: 'Lists the snapshots of the workspace of a chat; the latest 200, oldest first.',
  effect: 'reads',
  input: z.strictObject({ chat }),
  async run({ chat: sandbox }, { client, signal }) {
    const { snapshots, diskBytes } = await client.sandboxes.of(sandbox).snapshots.list({ signal });
    return { snapshots: snapshots.slice(-mostListed), total: snapshots.length, diskBytes };
  },
});

const restore = defineTool({
  name: 'snapshot_restore',
  title: 'Restore a snapshot',
  description: 'Restores the workspace of a chat from a snapshot. Changes since the snapshot are lost.',
  effect: 'destroys',
  input: z.strictObject({ chat, name: z.string().min(1) }),
  run: ({ chat: sandbox, name }, { client, signal }) =>
    client.sandboxes.of(sandbox).snapshots.restore(name, { signal }),
});

export const snapshotTools: readonly Tool[] = [take, list, restore];
