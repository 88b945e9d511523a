import { runtimesSchema } from '../../../contract/host.ts';
import { toWire } from '../../../contract/names.ts';
import type { ApiParts } from '../../environment.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, json, refusals, security } from '../../route.ts';

export function runtimes(probe: NonNullable<ApiParts['probe']>) {
  return defineRoute(
    {
      method: 'get',
      path: '/api/v1/runtimes',
      summary: 'What can run here, with which isolation grade',
      tags: ['server'],
      security,
      middleware: requireScope('sandboxes:read'),
      responses: { 200: json('Every runtime, or why it cannot.', runtimesSchema), ...refusals },
    },
    async (context) => {
      const probed = await probe();
      const found = probed.map(({ runtime: { name }, found: facts }) => ({ name, ...toWire(facts) }));
      return context.json({ runtimes: found }, 200);
    },
  );
}
