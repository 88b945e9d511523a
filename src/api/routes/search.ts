import type { Fusion } from '../../core/memory.ts';
import { requireScope } from '../guards/auth.ts';
import { defineRoute, json, refusals, security } from '../route.ts';
import { answerSchema, searchQuerySchema } from '../schemas.ts';
import { filterOf, wireResult } from '../wire.ts';

export const search = defineRoute(
  {
    method: 'get',
    path: '/api/v1/context/search',
    summary: 'Search by meaning and by word',
    tags: ['context'],
    security,
    middleware: requireScope('memory:read'),
    request: { query: searchQuerySchema },
    responses: { 200: json('The best first.', answerSchema), ...refusals },
  },
  async (context) => {
    const startMs = performance.now();
    const { q, fusion, dense, ...filter } = context.req.valid('query');
    const answer = await context.var.memory.recall(
      { text: q, ...filterOf(filter), fusion: fusionOf(fusion, dense) },
      { signal: context.req.raw.signal },
    );
    return context.json(
      {
        results: answer.results.map(wireResult),
        total: answer.total,
        total_is: answer.totalIs,
        degraded: answer.degraded.map(({ half }) => half),
        query_time_ms: performance.now() - startMs,
      },
      200,
    );
  },
);

function fusionOf(kind: Fusion['kind'] = 'weighted', dense: number | undefined): Fusion {
  return kind === 'rrf' ? { kind } : { kind, ...(dense !== undefined && { dense }) };
}
