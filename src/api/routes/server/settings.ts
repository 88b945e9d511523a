import type { Setting } from '../../../config/load.ts';
import type { ApiParts } from '../../environment.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, json, refusals, security } from '../../route.ts';
import { settingsSchema } from '../../schemas/host.ts';

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
    (context) => context.json({ settings: read().map(masked) }, 200),
  );
}

const secret = /(key|token|secret|password)$/;

/** A URL may hold a password too. */
function masked({ name, value, source, meaning }: Setting) {
  const hidden = secret.test(name) && value !== undefined ? '***' : withoutPassword(value);
  return { name, value: hidden ?? null, source, meaning };
}

function withoutPassword(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/^(\w+:\/\/[^/@:]*):[^@]*@/, '$1:***@') : value;
}
