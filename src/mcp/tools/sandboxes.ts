/** Persistent sandboxes, one for each chat. */
import { z } from 'zod';
import { runtimeNames } from '../../seams/runtime.ts';
import { defineTool, type Tool } from '../tool.ts';
import { chat } from './inputs.ts';

const create = defineTool({
  name: 'sandbox_create',
  title: 'Create a sandbox',
  description:
    'Creates or starts the sandbox of a chat: sealed, with its own files, and without network unless its owner allows some. It stays until it is removed.',
  effect: 'changes',
  input: z.strictObject({
    chat,
    image: z.string().optional().describe('A container image; default: the configured one.'),
    runtime: z.enum(runtimeNames).optional().describe('The runtime; default: the strongest that works here.'),
    labels: z.record(z.string(), z.string()).optional(),
  }),
  run: ({ chat: name, image, runtime, labels }, { client, signal }) =>
    client.sandboxes.getOrCreate(
      name,
      { ...(image && { image }), ...(runtime && { runtime }), ...(labels && { labels }) },
      { signal },
    ),
});

const list = defineTool({
  name: 'sandbox_list',
  title: 'List sandboxes',
  description: 'Lists the sandboxes of this user, running or stopped; at most 200.',
  effect: 'reads',
  input: z.strictObject({}),
  async run(_, { client, signal }) {
    const sandboxes = await client.sandboxes.list({ signal });
    return { sandboxes: sandboxes.slice(0, mostListed), total: sandboxes.length };
  },
});

const stop = defineTool({
  name: 'sandbox_stop',
  title: 'Stop a sandbox',
  description: 'Ends the processes of a sandbox. Its files stay, and the next command starts it again.',
  effect: 'changes',
  input: z.strictObject({ chat }),
  run: ({ chat: name }, { client, signal }) => client.sandboxes.stop(name, { signal }),
});

const remove = defineTool({
  name: 'sandbox_remove',
  title: 'Remove a sandbox',
  description: 'Removes a sandbox permanently, with its files and its snapshots.',
  effect: 'destroys',
  input: z.strictObject({ chat }),
  run: async ({ chat: name }, { client, signal }) => ({
    removed: await client.sandboxes.remove(name, { signal }),
  }),
});

const mostListed = 200;

export const sandboxTools: readonly Tool[] = [create, list, stop, remove];
