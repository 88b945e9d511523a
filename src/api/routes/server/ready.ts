import { type Readiness, readinessSchema } from '../../../contract/server.ts';
import type { MemoryStore } from '../../../core/memory.ts';
import { defineRoute, json } from '../../route.ts';

/** What each part's detail says may name hosts and files, and this path needs no key: it stays inside. */
export function ready(memory: MemoryStore, stopping: AbortSignal) {
  return defineRoute(
    {
      method: 'get',
      path: '/ready',
      summary: 'Can the server do its work, and how is each part?',
      tags: ['server'],
      responses: {
        200: json('It can, or with one half of search when `degraded`.', readinessSchema),
        503: json('It cannot.', readinessSchema),
      },
    },
    async (context) => {
      const { state, parts, pending } = await memory.health();
      const status: Readiness['status'] = stopping.aborted ? 'stopping' : state;
      const body = { status, parts: parts.map(({ name, state }) => ({ name, state })), pending };
      return context.json(body, status === 'up' || status === 'degraded' ? 200 : 503);
    },
  );
}
