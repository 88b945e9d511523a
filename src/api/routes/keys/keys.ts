import { createdKeySchema, keyParamSchema, keysSchema, newKeySchema } from '../../../contract/keys.ts';
import { requireScope } from '../../guards/auth.ts';
import type { KeyStore } from '../../keys.ts';
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
import { wireKey } from '../../wire.ts';

export function keyRoutes(keys: KeyStore) {
  const list = defineRoute(
    {
      method: 'get',
      path: '/api/v1/keys',
      summary: 'List the API keys',
      tags: ['keys'],
      security,
      middleware: requireScope('admin'),
      responses: { 200: json('Oldest first, revoked ones too.', keysSchema), ...refusals },
    },
    (context) => context.json({ keys: keys.list().map(wireKey) }, 200),
  );

  const create = defineRoute(
    {
      method: 'post',
      path: '/api/v1/keys',
      summary: 'Make an API key for a user',
      tags: ['keys'],
      security,
      middleware: [requireScope('admin'), limitEntryBody],
      request: { body: jsonBody('Whose key, and what it may do.', newKeySchema) },
      responses: {
        201: json('The only answer that holds the secret.', createdKeySchema),
        ...refusals,
        ...bodyRefusals,
      },
    },
    (context) => {
      const { user, scopes, label = '' } = context.req.valid('json');
      const { key, secret } = keys.create({ user, scopes, label });
      return context.json({ ...wireKey(key), secret }, 201);
    },
  );

  const revoke = defineRoute(
    {
      method: 'delete',
      path: '/api/v1/keys/{id}',
      summary: 'Revoke an API key',
      tags: ['keys'],
      security,
      middleware: requireScope('admin'),
      request: { params: keyParamSchema },
      responses: { 204: { description: 'It is refused from now on.' }, ...refusals, ...notFoundRefusal },
    },
    (context) => {
      keys.revoke(context.req.valid('param').id);
      return context.body(null, 204);
    },
  );

  return [list, create, revoke] as const;
}
