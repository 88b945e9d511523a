import { fromWire, toWire } from '../../../contract/names.ts';
import { runListQuery, runListSchema, runParams, runRecordSchema } from '../../../contract/runs.ts';
import type { RunHistory } from '../../../runs/history/run-record.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, json, refusals, security } from '../../route.ts';

const common = { tags: ['runs'], security, middleware: requireScope('runs') };

/** Runs that are over, each with the beginning of what it wrote. */
export function runHistory(history: RunHistory) {
  const list = defineRoute(
    {
      ...common,
      method: 'get',
      path: '/api/v1/runs',
      summary: 'List the runs of the caller that are over, the newest first',
      request: { query: runListQuery },
      responses: { 200: json('As many as are kept: `runs.keep`.', runListSchema), ...refusals },
    },
    (context) => {
      const found = history.list(context.var.caller.user, fromWire(context.req.valid('query')));
      return context.json({ runs: found.map((each) => toWire(each)) }, 200);
    },
  );
  const get = defineRoute(
    {
      ...common,
      method: 'get',
      path: '/api/v1/runs/{id}',
      summary: 'Read a run that is over: its code, its output and how it ended',
      request: { params: runParams },
      responses: { 200: json('The run.', runRecordSchema), ...refusals },
    },
    (context) => {
      const record = history.get(context.var.caller.user, context.req.valid('param').id);
      return context.json(
        {
          ...toWire(record),
          output: [...record.output],
          artifacts: [...record.artifacts],
          denied: [...record.denied],
        },
        200,
      );
    },
  );
  return [list, get] as const;
}
