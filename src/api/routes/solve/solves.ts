import type { Context } from 'hono';
import { fromWire, toWire } from '../../../contract/names.ts';
import { problemSchema } from '../../../contract/problem.ts';
import {
  solveEventSchema,
  solveListQuery,
  solveParams,
  solveRequestSchema,
  solveSchema,
  solvesSchema,
} from '../../../contract/solve.ts';
import { GeodeError } from '../../../core/errors.ts';
import type { SolveEvent, Solves } from '../../../core/solve.ts';
import { runEgress } from '../../egress-reach.ts';
import type { ApiEnv, ApiParts } from '../../environment.ts';
import { signalOf, streamEvents } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import {
  bodyRefusals,
  defineRoute,
  eventStream,
  json,
  jsonBody,
  limitEntryBody,
  notFoundRefusal,
  refusals,
  security,
} from '../../route.ts';

const path = '/api/v1/solve';
const answers = {
  200: eventStream('What happens, as it happens; the last event is `result` or `problem`.', solveEventSchema),
  402: json('The budget for models is spent.', problemSchema),
  409: json('No model is configured.', problemSchema),
};

export function solveRoutes(of: (user: string) => Solves, host: ApiParts['egress']) {
  const solvesOf = (context: Context<ApiEnv>) => of(context.var.caller.user);
  return [
    defineRoute(
      {
        method: 'post',
        path,
        summary: 'Solve a problem by trying',
        description: 'A caller who leaves ends it; it can be resumed.',
        tags: ['solve'],
        security,
        middleware: [requireScope('runs'), limitEntryBody],
        request: { body: jsonBody('The problem, and how its solution is checked.', solveRequestSchema) },
        responses: { ...answers, ...refusals, ...bodyRefusals },
      },
      (context) => {
        const { egress: asked, ...request } = fromWire(context.req.valid('json'));
        // Without a word of it a solve reaches nothing, whatever runs may reach by default.
        const egress = asked && runEgress(context, host, asked);
        const { reach } = context.env;
        const given = { ...request, ...(egress && { egress }), ...(reach && { most: reach.limits }) };
        return stream(context, solvesOf(context).solve(given, { signal: signalOf(context) }));
      },
    ),
    defineRoute(
      {
        method: 'post',
        path: `${path}/{id}/resume`,
        summary: 'Go on with a solve that was interrupted',
        tags: ['solve'],
        security,
        middleware: requireScope('runs'),
        request: { params: solveParams },
        responses: { ...answers, ...refusals, ...notFoundRefusal },
      },
      (context) => {
        const { id } = context.req.valid('param');
        return stream(context, solvesOf(context).resume(id, { signal: signalOf(context) }));
      },
    ),
    defineRoute(
      {
        method: 'get',
        path,
        summary: 'List the solves, newest first',
        tags: ['solve'],
        security,
        middleware: requireScope('runs'),
        request: { query: solveListQuery },
        responses: { 200: json('Without their attempts.', solvesSchema), ...refusals },
      },
      (context) => {
        const solves = solvesOf(context).list(context.req.valid('query').limit);
        return context.json({ solves: solves.map(wireOf) }, 200);
      },
    ),
    defineRoute(
      {
        method: 'get',
        path: `${path}/{id}`,
        summary: 'One solve with its attempts',
        tags: ['solve'],
        security,
        middleware: requireScope('runs'),
        request: { params: solveParams },
        responses: { 200: json('The solve.', solveSchema), ...refusals, ...notFoundRefusal },
      },
      (context) => context.json(wireOf(solvesOf(context).get(context.req.valid('param').id)), 200),
    ),
  ] as const;
}

/** A refusal before the first event has a status of its own. */
async function stream(context: Context<ApiEnv>, events: AsyncGenerator<SolveEvent>) {
  const first = await events.next();
  if (first.done) throw new GeodeError('internal', 'A solve without events.');
  return streamEvents(context, 200, following(first.value, events));
}

async function* following(first: SolveEvent, events: AsyncGenerator<SolveEvent>) {
  try {
    yield toWire(first);
    for await (const event of events) yield toWire(event);
  } finally {
    await events.return(undefined);
  }
}

/** Dates leave as text. */
function wireOf(solve: ReturnType<Solves['get']>) {
  const { createdAt, attempts, ...rest } = solve;
  return toWire({
    ...rest,
    createdAt: createdAt.toISOString(),
    attempts: attempts.map(({ startedAt, endedAt, ...attempt }) => ({
      ...attempt,
      startedAt: startedAt.toISOString(),
      endedAt: endedAt?.toISOString() ?? null,
    })),
  });
}
