/** `/snapshots`: sandboxes kept in their state, from which others are created. */
import type { Hono } from 'hono';
import { z } from 'zod';
import type { ApiEnv } from '../../api/environment.ts';
import { signalOf } from '../../api/streams.ts';
import { GeodeError } from '../../base/errors.ts';
import { bodyOf } from '../json-body.ts';
import type { E2bSandbox } from './e2b-table.ts';
import type { E2b } from './open-e2b.ts';
import { find, newRow } from './sandbox-routes.ts';

const mostListed = 100;

export function snapshotRoutes(door: Hono<ApiEnv>, e2b: E2b): void {
  const { table } = e2b;
  /** The files only: a stopped fork survives the sandbox that it was made from. */
  door.post('/sandboxes/:id/snapshots', async (context) => {
    const source = find(context, e2b);
    const { name = null } = await bodyOf(context, z.object({ name: z.string().min(1).max(200).optional() }));
    const made = newRow(context, source.template, { kind: 'snapshot', name, metadata: { of: source.id } });
    const { sandboxes } = context.var;
    table.add(made);
    try {
      await sandboxes.fork(source.id, made.id, { signal: signalOf(context) });
      await sandboxes.stop(made.id);
    } catch (error) {
      await sandboxes.remove(made.id).catch(() => {});
      table.remove(made.id);
      throw error;
    }
    return context.json(wireSnapshot(made), 201);
  });
  door.get('/snapshots', async (context) => {
    const { sandboxID, name, limit = mostListed, nextToken = 0 } = context.req.query();
    const there = new Set((await context.var.sandboxes.list()).map(({ chat }) => chat));
    const found = table
      .list(context.var.caller.user)
      .filter(({ id, kind }) => kind === 'snapshot' && there.has(id))
      .filter(({ metadata }) => sandboxID === undefined || metadata.of === sandboxID)
      .filter((each) => name === undefined || each.name === name);
    const from = Number(nextToken) || 0;
    const end = from + Math.min(Math.max(Number(limit) || mostListed, 1), mostListed);
    if (found.length > end) context.header('X-Next-Token', String(end));
    return context.json(found.slice(from, end).map(wireSnapshot), 200);
  });
  door.delete('/templates/:id', async (context) => {
    const id = context.req.param('id');
    if (table.get(context.var.caller.user, id)?.kind !== 'snapshot')
      throw new GeodeError('snapshot_not_found', `There is no snapshot ${id}.`);
    await context.var.sandboxes.remove(id, { signal: signalOf(context) });
    table.remove(id);
    return context.body(null, 204);
  });
}

function wireSnapshot({ id, name }: E2bSandbox): object {
  return { snapshotID: id, names: name === null ? [] : [name] };
}
