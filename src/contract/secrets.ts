/** secrets. */

import { newSecretSchema, rotatedSchema, secretParams, secretsSchema } from './egress.ts';
import { family, notFound } from './operation.ts';
import { removedSchema } from './sandboxes.ts';

export const secrets = family({
  list: {
    route: 'GET /api/v1/secrets',
    tag: 'secrets',
    scope: 'secrets',
    summary: 'List the names of secrets',
    answer: { description: 'The secrets by name, without values.', schema: secretsSchema, field: 'secrets' },
  },
  set: {
    route: 'PUT /api/v1/secrets/{name}',
    tag: 'secrets',
    scope: 'secrets',
    summary: 'Set a secret',
    params: secretParams,
    body: { description: 'The secret. No answer ever contains it.', schema: newSecretSchema },
    done: 'The secret is stored; the next call of a binding uses it.',
    refuses: notFound,
  },
  remove: {
    route: 'DELETE /api/v1/secrets/{name}',
    tag: 'secrets',
    scope: 'secrets',
    summary: 'Remove a secret',
    params: secretParams,
    answer: { description: 'Whether there was such a secret.', schema: removedSchema, field: 'removed' },
    refuses: notFound,
  },
  rotate: {
    route: 'POST /api/v1/secrets/rotate',
    tag: 'secrets',
    scope: 'admin',
    summary: 'Encrypt the secrets of all users with a new key',
    answer: { description: 'The number of secrets.', schema: rotatedSchema, field: 'sealed' },
  },
});
