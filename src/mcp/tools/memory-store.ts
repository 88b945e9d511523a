import { z } from 'zod';
import { defineTool } from '../tool.ts';

export const memoryStore = defineTool({
  name: 'memory_store',
  title: 'Store in memory',
  description:
    'Stores a fact, a decision or a lesson. Secrets are taken out before anything is written. With the id of an entry that is there, it becomes the next version of it.',
  effect: 'changes',
  input: z.strictObject({
    content: z.string().min(1).max(100_000),
    category: z
      .string()
      .default('project')
      .describe('core, project, conversation, daily, scratch, or another.'),
    source: z.string().min(1).default('mcp').describe('Where it comes from: a file, a URL, a chat.'),
    tags: z.array(z.string()).max(16).optional(),
    id: z.string().min(1).optional(),
  }),
  run: ({ id, tags, ...entry }, { client, signal }) =>
    client.ingest({ ...entry, ...(id !== undefined && { id }), ...(tags && { tags }) }, { signal }),
});
