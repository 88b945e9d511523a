import { healthSchema } from '../../../contract/server.ts';
import { defineRoute, json } from '../../route.ts';

export function health(version: string) {
  return defineRoute(
    {
      method: 'get',
      path: '/health',
      summary: 'Is the server there?',
      tags: ['server'],
      responses: { 200: json('It is.', healthSchema) },
    },
    (context) => context.json({ status: 'up' as const, version }, 200),
  );
}
