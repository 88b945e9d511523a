import type { Context } from 'hono';
import { fromWire, toWire } from '../../../contract/names.ts';
import {
  crystalChangeSchema,
  crystalParams,
  crystalSchema,
  crystalsSchema,
  crystalVerifySchema,
  verifiedCrystalSchema,
} from '../../../contract/solve.ts';
import { type Crystal, trustOf } from '../../../solve/crystal.ts';
import type { OpenedSolves, UserCrystals } from '../../../solve/open-solves.ts';
import { newEgress } from '../../egress-reach.ts';
import type { ApiEnv, ApiParts } from '../../environment.ts';
import { signalOf } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import {
  bodyRefusals,
  defineRoute,
  json,
  jsonBody,
  limitEntryBody,
  notFoundRefusal,
  refusals,
  sandboxRefusals,
  security,
} from '../../route.ts';

const path = '/api/v1/crystals';

export function crystalRoutes({ crystals: of }: OpenedSolves, host: ApiParts['egress']) {
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
      async (context) => {
        const crystals = crystalsOf(context);
        return context.json({ crystals: (await crystals.list()).map((each) => wireOf(each, crystals)) }, 200);
      },
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
      async (context) => {
        const crystals = crystalsOf(context);
        return context.json(wireOf(await crystals.get(context.req.valid('param').key), crystals), 200);
      },
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
        const crystals = crystalsOf(context);
        const change = fromWire(context.req.valid('json'));
        const changed = await crystals.edit(context.req.valid('param').key, change);
        return context.json(wireOf(changed, crystals), 200);
      },
    ),
    defineRoute(
      {
        method: 'post',
        path: `${path}/{key}/verify`,
        summary: 'Run a crystal again on the check that it was kept with',
        description: 'Its trust follows the verdict: passing brings a faded one back into recall.',
        tags: ['solve'],
        security,
        middleware: [requireScope('memory:write'), requireScope('runs'), limitEntryBody],
        request: {
          params: crystalParams,
          body: jsonBody('Where its packages may come from, if it needs any.', crystalVerifySchema),
        },
        responses: {
          200: json('How it went.', verifiedCrystalSchema),
          ...sandboxRefusals,
          ...bodyRefusals,
        },
      },
      async (context) => {
        const crystals = crystalsOf(context);
        const { egress: asked } = fromWire(context.req.valid('json'));
        const egress = asked && newEgress(context, host, asked);
        const options = { ...(egress && { egress }), signal: signalOf(context) };
        const { crystal, verdict } = await crystals.verify(context.req.valid('param').key, options);
        return context.json({ crystal: wireOf(crystal, crystals), verdict }, 200);
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

function wireOf(crystal: Crystal, crystals: UserCrystals) {
  return toWire({ ...crystal, trust: trustOf(crystal), standing: crystals.standing(crystal) });
}
