import { statsSchema } from '../../../contract/server.ts';
import type { MemoryStore } from '../../../core/memory.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, json, refusals, security } from '../../route.ts';

export function stats(memory: MemoryStore) {
  return defineRoute(
    {
      method: 'get',
      path: '/api/v1/memory/stats',
      summary: 'How large the memory of all users is',
      tags: ['memory'],
      security,
      middleware: requireScope('admin'),
      responses: { 200: json('Counts, sizes and the model.', statsSchema), ...refusals },
    },
    async (context) => {
      const { bytesOnDisk, ...counts } = await memory.stats();
      return context.json({ store: memory.name, ...counts, bytes_on_disk: bytesOnDisk }, 200);
    },
  );
}
