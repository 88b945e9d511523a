import { answerSchema, searchQuerySchema } from '../../../contract/context.ts';
import { problemSchema } from '../../../contract/problem.ts';
import { recallBlock } from '../../../solve/recall-block.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, json, refusals, security } from '../../route.ts';
import { filterOf, fusionOf, wireResult } from '../../wire.ts';

export const search = defineRoute(
  {
    method: 'get',
    path: '/api/v1/context/search',
    summary: 'Search by meaning and by word',
    tags: ['context'],
    security,
    middleware: requireScope('memory:read'),
    request: { query: searchQuerySchema },
    responses: {
      200: json('The best first.', answerSchema),
      ...refusals,
      413: json('The query is too long.', problemSchema),
    },
  },
  async (context) => {
    const startMs = performance.now();
    const { q, tokens, ...options } = context.req.valid('query');
    const answer = await context.var.memory.recall(
      { text: q, ...filterOf(options), fusion: fusionOf(options) },
      { signal: context.req.raw.signal },
    );
    return context.json(
      {
        results: answer.results.map(wireResult),
        total: answer.total,
        total_is: answer.totalIs,
        degraded: answer.degraded.map(({ half }) => half),
        query_time_ms: performance.now() - startMs,
        ...(tokens !== undefined && {
          block: recallBlock(
            [],
            answer.results.map(({ entry }) => entry),
            tokens,
          ).text,
        }),
      },
      200,
    );
  },
);
