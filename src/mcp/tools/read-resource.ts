import { ResourceNotFoundError } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { GeodeError } from '../../base/errors.ts';
import type { SessionCall } from '../sessions/session-call.ts';
import { defineTool } from '../tool.ts';

const input = z.strictObject({
  uri: z.string().min(1).max(8192).describe('A URI from list_resources: file:///… or memory://entry/….'),
});

export const readResource = defineTool<typeof input, SessionCall>({
  name: 'read_resource',
  title: 'Read a resource',
  description: 'Reads a file of this workspace or a memory entry by its URI.',
  effect: 'reads',
  input,
  async run({ uri }, { resources, signal }) {
    try {
      return await resources.read(uri, { signal });
    } catch (error) {
      if (!(error instanceof ResourceNotFoundError)) throw error;
      throw new GeodeError('file_not_found', `There is no resource ${uri}.`, {
        cause: error,
        hint: 'Call list_resources to list the resources.',
      });
    }
  },
});
