import type { Context } from 'hono';
import { type Crystal, type Crystals, trustOf } from '../../../solve/crystal.ts';
import type { ApiEnv } from '../../environment.ts';
import { requireScope } from '../../guards/auth.ts';
import {
  bodyRefusals,
  defineRoute,
  json,
  jsonBody,
  limitEntryBody,
  notFoundRefusal,
  refusals,
  security,
} from '../../route.ts';
import { fromWire, toWire } from '../../schemas/names.ts';
import { crystalChangeSchema, crystalParams, crystalSchema, crystalsSchema } from '../../schemas/solve.ts';

const path = '/api/v1/crystals';

export function crystalRoutes(of: (user: string) => Crystals) {
  const crystalsOf = (context: Context<ApiEnv>) => of(context.var.caller.user);
  return [
    defineRoute(
      {
        method: 'get',
        path,
        summary: 'List the crystals, newest first',
        tags: ['solve'],
        security,
        middleware: requireScope('memory:read'),
        responses: { 200: json('What was kept of solved problems.', crystalsSchema), ...refusals },
      },
      async (context) => context.json({ crystals: (await crystalsOf(context).list()).map(wireOf) }, 200),
    ),
    defineRoute(
      {
        method: 'get',
        path: `${path}/{key}`,
        summary: 'One crystal',
        tags: ['solve'],
        security,
        middleware: requireScope('memory:read'),
        request: { params: crystalParams },
        responses: { 200: json('The crystal.', crystalSchema), ...refusals, ...notFoundRefusal },
      },
      async (context) =>
        context.json(wireOf(await crystalsOf(context).get(context.req.valid('param').key)), 200),
    ),
    defineRoute(
      {
        method: 'patch',
        path: `${path}/{key}`,
        summary: 'Pin or edit a crystal',
        tags: ['solve'],
        security,
        middleware: [requireScope('memory:write'), limitEntryBody],
        request: { params: crystalParams, body: jsonBody('What to change.', crystalChangeSchema) },
        responses: {
          200: json('As it is now.', crystalSchema),
          ...refusals,
          ...bodyRefusals,
          ...notFoundRefusal,
        },
      },
      async (context) => {
        const change = fromWire(context.req.valid('json'));
        return context.json(
          wireOf(await crystalsOf(context).edit(context.req.valid('param').key, change)),
          200,
        );
      },
    ),
    defineRoute(
      {
        method: 'delete',
        path: `${path}/{key}`,
        summary: 'Remove a crystal',
        tags: ['solve'],
        security,
        middleware: requireScope('memory:write'),
        request: { params: crystalParams },
        responses: { 204: { description: 'It is gone.' }, ...refusals, ...notFoundRefusal },
      },
      async (context) => {
        await crystalsOf(context).remove(context.req.valid('param').key);
        return context.body(null, 204);
      },
    ),
  ] as const;
}

function wireOf(crystal: Crystal) {
  return toWire({ ...crystal, trust: trustOf(crystal) });
}
