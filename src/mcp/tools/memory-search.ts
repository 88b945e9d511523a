import { z } from 'zod';
import { cut, defineTool } from '../tool.ts';

const contentCharacters = 20_000;

export const memorySearch = defineTool({
  name: 'memory_search',
  title: 'Search memory',
  description:
    'Searches memory by meaning and by word. Each result shows why it was found, its source, and whether it may be outdated.',
  effect: 'reads',
  input: z.strictObject({
    query: z.string().min(1).max(2000),
    category: z.string().optional().describe('core, project, conversation, daily, scratch, or another.'),
    tags: z.array(z.string()).max(16).optional().describe('Only entries with all of these tags.'),
    limit: z.int().min(1).max(25).default(10),
  }),
  async run({ query, category, tags, limit }, { client, signal }) {
    const { results, total, degraded } = await client.search(query, {
      limit,
      ...(category !== undefined && { category }),
      ...(tags && { tags }),
      signal,
    });
    return {
      total,
      degraded,
      results: results.map(
        ({ id, content, category: kind, tags: has, sources, score, stale, why, updated_at }) => ({
          ...{ id, category: kind, tags: has, sources, score, stale, updated_at },
          content: cut(content, contentCharacters),
          why: why.summary,
        }),
      ),
    };
  },
});
