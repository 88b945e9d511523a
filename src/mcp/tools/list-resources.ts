import { z } from 'zod';
import type { SessionCall } from '../sessions/session-call.ts';
import { defineTool } from '../tool.ts';

const input = z.strictObject({
  cursor: z.string().max(100).optional().describe('The nextCursor of the page before.'),
});

export const listResources = defineTool<typeof input, SessionCall>({
  name: 'list_resources',
  title: 'List resources',
  description:
    'Lists what read_resource can read: the files of this workspace (file://) first, then entries of memory (memory://).',
  effect: 'reads',
  input,
  run: ({ cursor }, { resources, signal }) => resources.list(cursor, { signal }),
});
