import { type ReindexEvent, reindexEventSchema } from '../../../contract/server.ts';
import type { MemoryStore } from '../../../core/memory.ts';
import { streamEvents } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, refusals, security } from '../../route.ts';

export function reindex(memory: MemoryStore) {
  return defineRoute(
    {
      method: 'post',
      path: '/api/v1/memory/reindex',
      summary: 'Embed and index everything again while search goes on',
      description: 'Goes on as long as the caller listens.',
      tags: ['memory'],
      security,
      middleware: requireScope('admin'),
      responses: {
        200: {
          description: 'Its progress.',
          content: { 'text/event-stream': { schema: reindexEventSchema } },
        },
        ...refusals,
      },
    },
    (context) => streamEvents(context, 200, reindexEvents(memory, context.req.raw.signal)),
  );
}

async function* reindexEvents(memory: MemoryStore, signal: AbortSignal): AsyncGenerator<ReindexEvent> {
  let indexed = 0;
  for await (const { done, total } of memory.reindex({ signal })) {
    indexed = done;
    yield { type: 'progress', done, total };
  }
  yield { type: 'end', done: indexed };
}
