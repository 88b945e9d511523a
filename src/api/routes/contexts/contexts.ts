import type { Context } from 'hono';
import {
  cellsSchema,
  checkedSchema,
  contextCheckSchema,
  contextEventSchema,
  contextParams,
  contextResultSchema,
  contextRunSchema,
  contextSchema,
  contextsSchema,
  interruptedSchema,
  newContextSchema,
  type WireCells,
  type WireContextEvent,
  type WireContextResult,
  type WireRich,
} from '../../../contract/contexts.ts';
import { fromWire, toWire } from '../../../contract/names.ts';
import type { ContextEvent, ContextResult } from '../../../runs/contexts/result.ts';
import type { Rich } from '../../../runs/contexts/rich.ts';
import type { ApiEnv } from '../../environment.ts';
import { signalOf, streamEvents, wantsEvents } from '../../events.ts';
import { refuseWithout, requireScope } from '../../guards/auth.ts';
import type { LiveContexts } from '../../live-contexts.ts';
import {
  bodyRefusals,
  defineRoute,
  json,
  jsonBody,
  limitBulkBody,
  limitEntryBody,
  sandboxRefusals,
  security,
} from '../../route.ts';
import { checkReach } from '../../sandbox-of.ts';
import { toldMeanwhile } from '../../told-meanwhile.ts';

const path = '/api/v1/contexts';
const one = `${path}/{id}` as const;
const tags = ['contexts'];
const middleware = requireScope('runs');

export function contextRoutes(contexts: LiveContexts) {
  const create = defineRoute(
    {
      method: 'post',
      path,
      summary: 'Open an interpreter that keeps its variables between runs',
      tags,
      security,
      middleware: [middleware, limitEntryBody],
      request: { body: jsonBody('Which, and where.', newContextSchema) },
      responses: { 201: json('It is ready.', contextSchema), ...sandboxRefusals, ...bodyRefusals },
    },
    async (context) => {
      const { image, limits, minimumGrade, ...wanted } = fromWire(context.req.valid('json'));
      if (wanted.chat !== undefined) refuseWithout(context, 'sandboxes:write');
      checkReach(context, { runtime: wanted.runtime, limits });
      const spec = {
        ...(image !== undefined && { image }),
        ...(limits !== undefined && { limits }),
        ...(minimumGrade !== undefined && { minimumGrade }),
      };
      const { user } = context.var.caller;
      const made = await contexts.open(user, { ...wanted, spec }, { signal: signalOf(context) });
      return context.json(toWire(made), 201);
    },
  );

  const list = defineRoute(
    {
      method: 'get',
      path,
      summary: 'List the open contexts',
      tags,
      security,
      middleware,
      responses: { 200: json('Those of the caller.', contextsSchema), ...sandboxRefusals },
    },
    (context) => {
      const found = contexts.list(context.var.caller.user);
      return context.json({ contexts: found.map((each) => toWire(each)) }, 200);
    },
  );

  const run = defineRoute(
    {
      method: 'post',
      path: `${one}/runs`,
      summary: 'Run code in a context',
      description:
        'Answers with the result, or with `Accept: text/event-stream` with what happens, as it happens; the last event is `end` or `problem`. A caller that leaves stops the code; the variables stay.',
      tags,
      security,
      middleware: [middleware, limitBulkBody],
      request: { params: contextParams, body: jsonBody('The code.', contextRunSchema) },
      responses: {
        200: {
          description: 'How it went: code that raises is a result too.',
          content: {
            'application/json': { schema: contextResultSchema },
            'text/event-stream': { schema: contextEventSchema },
          },
        },
        ...sandboxRefusals,
        ...bodyRefusals,
      },
    },
    async (context) => {
      const { code, ...options } = fromWire(context.req.valid('json'));
      const { id } = context.req.valid('param');
      const { user } = context.var.caller;
      const signal = signalOf(context);
      const start = (onEvent?: (event: ContextEvent) => void) =>
        contexts.run(user, id, code, { ...options, ...(onEvent !== undefined && { onEvent }), signal });
      if (wantsEvents(context)) {
        await contexts.use(user, id, async () => {});
        return streamEvents(context, 200, runEvents(start));
      }
      return context.json(wireResult(await start()), 200);
    },
  );

  const cells = defineRoute(
    {
      method: 'get',
      path: `${one}/cells`,
      summary: 'What ran in a context since it was opened, with what it showed',
      description: 'The oldest are dropped beyond 200, and beyond 8 MiB.',
      tags,
      security,
      middleware,
      request: { params: contextParams },
      responses: { 200: json('Oldest first.', cellsSchema), ...sandboxRefusals },
    },
    (context) => {
      const found = contexts.cells(context.var.caller.user, context.req.valid('param').id);
      const shown: WireCells['cells'] = found.map(({ durationMs, pieces, ...cell }) => ({
        ...cell,
        duration_ms: durationMs,
        pieces: pieces.map(wirePiece),
      }));
      return context.json({ cells: shown }, 200);
    },
  );

  const deed = <const Verb extends string>(
    verb: Verb,
    summary: string,
    work: (context: Context<ApiEnv>, id: string) => Promise<void>,
  ) =>
    defineRoute(
      {
        method: 'post',
        path: `${one}/${verb}` as const,
        summary,
        tags,
        security,
        middleware,
        request: { params: contextParams },
        responses: { 204: { description: 'It is done.' }, ...sandboxRefusals },
      },
      async (context) => {
        await work(context, context.req.valid('param').id);
        return context.body(null, 204);
      },
    );

  const restart = deed('restart', 'Start a fresh interpreter, without the variables', (context, id) =>
    contexts.use(context.var.caller.user, id, (live) => live.restart({ signal: signalOf(context) })),
  );

  const interrupt = defineRoute(
    {
      method: 'post',
      path: `${one}/interrupt`,
      summary: 'Stop what runs in a context; the variables stay',
      tags,
      security,
      middleware,
      request: { params: contextParams },
      responses: { 200: json('What became of it.', interruptedSchema), ...sandboxRefusals },
    },
    async (context) => {
      const { id } = context.req.valid('param');
      const outcome = await contexts.use(context.var.caller.user, id, (live) => live.interrupt());
      return context.json({ outcome }, 200);
    },
  );

  const check = defineRoute(
    {
      method: 'post',
      path: `${one}/check`,
      summary: 'Say whether code is whole, for a terminal that reads it line by line',
      tags,
      security,
      middleware: [middleware, limitEntryBody],
      request: { params: contextParams, body: jsonBody('The code.', contextCheckSchema) },
      responses: { 200: json('Whether it is.', checkedSchema), ...sandboxRefusals, ...bodyRefusals },
    },
    async (context) => {
      const { id } = context.req.valid('param');
      const { code } = context.req.valid('json');
      const state = await contexts.use(context.var.caller.user, id, (live) =>
        live.check(code, { signal: signalOf(context) }),
      );
      return context.json({ state }, 200);
    },
  );

  const close = defineRoute(
    {
      method: 'delete',
      path: one,
      summary: 'Close a context, and end everything that it started',
      tags,
      security,
      middleware,
      request: { params: contextParams },
      responses: { 204: { description: 'It is closed.' }, ...sandboxRefusals },
    },
    async (context) => {
      await contexts.close(context.var.caller.user, context.req.valid('param').id);
      return context.body(null, 204);
    },
  );

  return [create, list, run, cells, restart, interrupt, check, close] as const;
}

/** The events as they come, then the result. */
async function* runEvents(
  start: (onEvent: (event: ContextEvent) => void) => Promise<ContextResult>,
): AsyncGenerator<WireContextEvent> {
  const telling = toldMeanwhile(start);
  let step = await telling.next();
  for (; !step.done; step = await telling.next()) yield wirePiece(step.value);
  yield { type: 'end', ...wireResult(step.value) };
}

function wirePiece(event: ContextEvent): WireCells['cells'][number]['pieces'][number] {
  return event.type === 'result' ? { type: 'result', result: wireRich(event.result) } : event;
}

function wireResult({ results, value, ...result }: ContextResult): WireContextResult {
  return { ...toWire(result), results: results.map(wireRich), value: value && wireRich(value) };
}

function wireRich({ png, jpeg, table, omitted, ...rich }: Rich): WireRich {
  return {
    ...rich,
    omitted: [...omitted],
    ...(table !== undefined && { table: toWire(table) }),
    ...(png !== undefined && { png: Buffer.from(png).toString('base64') }),
    ...(jpeg !== undefined && { jpeg: Buffer.from(jpeg).toString('base64') }),
  };
}
