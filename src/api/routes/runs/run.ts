import { isUtf8 } from 'node:buffer';
import type { Context } from 'hono';
import { bytesOf, wireBytes } from '../../../contract/encoding.ts';
import { fromWire, toWire } from '../../../contract/names.ts';
import {
  runEventSchema,
  runResultSchema,
  runSchema,
  type WireRun,
  type WireRunEvent,
  type WireRunResult,
} from '../../../contract/runs.ts';
import type { RunEvent } from '../../../core/run.ts';
import type { Runs } from '../../../runs/index.ts';
import type { RunOptions } from '../../../runs/options.ts';
import type { RunResult } from '../../../runs/result.ts';
import { runEgress } from '../../egress-reach.ts';
import type { ApiEnv, ApiParts } from '../../environment.ts';
import { signalOf, streamEvents, wantsEvents } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import {
  bodyRefusals,
  defineRoute,
  jsonBody,
  limitBulkBody,
  sandboxRefusals,
  security,
} from '../../route.ts';
import { checkReach } from '../../sandbox-of.ts';

export function run(runs: Runs, egress: ApiParts['egress']) {
  return defineRoute(
    {
      method: 'post',
      path: '/api/v1/runs',
      summary: 'Run code once, in a sandbox that nothing used before',
      description:
        'Answers with the result, or with `Accept: text/event-stream` with everything that happens, as it happens; the last event is `end` or `problem`. A caller that leaves ends the run.',
      tags: ['runs'],
      security,
      middleware: [requireScope('runs'), limitBulkBody],
      request: { body: jsonBody('The code, and what it gets.', runSchema) },
      responses: {
        200: {
          description: 'How it went: a program that fails is a result too.',
          content: {
            'application/json': { schema: runResultSchema },
            'text/event-stream': { schema: runEventSchema },
          },
        },
        ...sandboxRefusals,
        ...bodyRefusals,
      },
    },
    async (context) => {
      const wire = context.req.valid('json');
      const { code, language, options, outputLimitBytes } = runOf(context, wire, egress);
      if (wantsEvents(context))
        return streamEvents(context, 200, runEvents(runs.stream(code, language, options)));
      const limit = outputLimitBytes === undefined ? {} : { outputLimitBytes };
      return context.json(wireRunResult(await runs.run(code, language, { ...options, ...limit })), 200);
    },
  );
}

export function runOf(context: Context<ApiEnv>, wire: WireRun, host: ApiParts['egress']) {
  const { code, language, outputLimitBytes, stdin, files, egress: asked, ...rest } = fromWire(wire);
  checkReach(context, { ...rest, runtime: rest.runtime, limits: rest.limits });
  const egress = runEgress(context, host, asked);
  const { reach } = context.env;
  const options: RunOptions = {
    ...rest,
    ...(egress !== undefined && { egress }),
    ...(reach && { most: reach.limits }),
    ...(stdin !== undefined && { stdin: bytesOf(stdin) }),
    ...(files !== undefined && {
      files: Object.fromEntries(Object.entries(files).map(([path, content]) => [path, bytesOf(content)])),
    }),
    user: context.var.caller.user,
    signal: signalOf(context),
  };
  return { code, language, options, outputLimitBytes };
}

async function* runEvents(events: AsyncIterable<RunEvent>): AsyncGenerator<WireRunEvent> {
  for await (const event of events) yield wireRunEvent(event);
}

export function wireRunEvent(event: RunEvent): WireRunEvent {
  if (!('bytes' in event)) return toWire(event);
  const { bytes, ...rest } = event;
  return { ...rest, ...wireBytes(bytes) };
}

function wireRunResult({ bytes, compile, artifacts, ...result }: RunResult): WireRunResult {
  const { bytes: _, ...compiled } = compile ?? {};
  return {
    ...toWire(result),
    ...(!isUtf8(bytes.stdout) && { stdout_base64: Buffer.from(bytes.stdout).toString('base64') }),
    ...(!isUtf8(bytes.stderr) && { stderr_base64: Buffer.from(bytes.stderr).toString('base64') }),
    compile: compile === null ? null : { ...toWire(compile), ...toWire(compiled) },
    artifacts: artifacts.map(({ path, bytes: content }) => ({ path, ...wireBytes(content) })),
  };
}
