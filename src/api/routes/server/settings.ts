import type { Setting } from '../../../config/load.ts';
import { masked } from '../../../config/masked.ts';
import { settingsSchema } from '../../../contract/host.ts';
import type { ApiParts } from '../../environment.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, json, refusals, security } from '../../route.ts';

export function settings(read: NonNullable<ApiParts['settings']>) {
  return defineRoute(
    {
      method: 'get',
      path: '/api/v1/settings',
      summary: 'Every setting as it is in force, and where it came from',
      tags: ['server'],
      security,
      middleware: requireScope('admin'),
      responses: { 200: json('Secrets are masked.', settingsSchema), ...refusals },
    },
    (context) => context.json({ settings: read().map(shown) }, 200),
  );
}

function shown({ name, value, source, meaning }: Setting) {
  return { name, value: masked({ name, value }) ?? null, source, meaning };
}
