import { leaveSchema } from '../../../contract/server.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, json, refusals, security } from '../../route.ts';

export function leave(askToLeave: () => boolean) {
  return defineRoute(
    {
      method: 'post',
      path: '/api/v1/host/leave',
      summary: 'Ask this host to make room for another; only on its own socket',
      tags: ['server'],
      security,
      middleware: requireScope('admin'),
      responses: { 200: json('Whether it ends now; not while it has work.', leaveSchema), ...refusals },
    },
    (context) => context.json({ leaves: askToLeave() }, 200),
  );
}
