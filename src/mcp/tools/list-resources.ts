import { z } from 'zod';
import type { SessionCall } from '../sessions/session-call.ts';
import { defineTool } from '../tool.ts';

const input = z.strictObject({
  cursor: z.string().max(100).optional().describe('The nextCursor of the previous page.'),
});

export const listResources = defineTool<typeof input, SessionCall>({
  name: 'list_resources',
  title: 'List resources',
  description:
    'Lists what read_resource can read: first the files of this workspace (file://), then memory entries (memory://).',
  effect: 'reads',
  input,
  run: ({ cursor }, { resources, signal }) => resources.list(cursor, { signal }),
});
