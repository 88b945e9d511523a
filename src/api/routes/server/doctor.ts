import { checksSchema } from '../../../contract/host.ts';
import type { ApiParts } from '../../environment.ts';
import { signalOf } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, json, refusals, security } from '../../route.ts';

export function doctor(check: NonNullable<ApiParts['doctor']>) {
  return defineRoute(
    {
      method: 'get',
      path: '/api/v1/doctor',
      summary: 'Check the machine of the host: folders, and a command in every runtime',
      description: 'Takes as long as it takes to open a sandbox of each runtime that is there.',
      tags: ['server'],
      security,
      middleware: requireScope('admin'),
      responses: { 200: json('Each check with its next step.', checksSchema), ...refusals },
    },
    async (context) => {
      const checks = await check({ signal: signalOf(context) });
      return context.json({ checks: [...checks] }, 200);
    },
  );
}
