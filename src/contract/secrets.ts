/** secrets. */

import { newSecretSchema, rotatedSchema, secretParams, secretsSchema } from './egress.ts';
import { family, notFound } from './operation.ts';
import { removedSchema } from './sandboxes.ts';

export const secrets = family({
  list: {
    route: 'GET /api/v1/secrets',
    tag: 'secrets',
    scope: 'secrets',
    summary: 'List the names of the secrets, never their values',
    answer: { says: 'By name.', schema: secretsSchema, field: 'secrets' },
  },
  set: {
    route: 'PUT /api/v1/secrets/{name}',
    tag: 'secrets',
    scope: 'secrets',
    summary: 'Set a secret; it holds for the next call of a binding',
    params: secretParams,
    body: { says: 'No answer holds it.', schema: newSecretSchema },
    done: 'It is sealed.',
    refuses: notFound,
  },
  remove: {
    route: 'DELETE /api/v1/secrets/{name}',
    tag: 'secrets',
    scope: 'secrets',
    summary: 'Remove a secret',
    params: secretParams,
    answer: { says: 'Whether there was one.', schema: removedSchema, field: 'removed' },
    refuses: notFound,
  },
  rotate: {
    route: 'POST /api/v1/secrets/rotate',
    tag: 'secrets',
    scope: 'admin',
    summary: 'Seal the secrets of all users with a new key',
    answer: { says: 'It is done.', schema: rotatedSchema, field: 'sealed' },
  },
});
