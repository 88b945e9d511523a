/** Credentials of the caller. None of these answers with a value. */

import { newSecretSchema, rotatedSchema, secretParams, secretsSchema } from '../../../contract/egress.ts';
import { toWire } from '../../../contract/names.ts';
import { removedSchema } from '../../../contract/sandboxes.ts';
import type { EgressHost } from '../../../egress/open-egress.ts';
import { requireScope } from '../../guards/auth.ts';
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

const path = '/api/v1/secrets';
const tags = ['secrets'];

export function secretRoutes(secrets: EgressHost['secrets']) {
  return [
    defineRoute(
      {
        method: 'get',
        path,
        summary: 'List the names of the secrets, never their values',
        tags,
        security,
        middleware: requireScope('secrets'),
        responses: { 200: json('By name.', secretsSchema), ...refusals },
      },
      (context) => {
        const known = secrets.list(context.var.caller.user);
        return context.json({ secrets: known.map((secret) => toWire(secret)) }, 200);
      },
    ),
    defineRoute(
      {
        method: 'put',
        path: `${path}/{name}`,
        summary: 'Set a secret; it holds for the next call of a binding',
        tags,
        security,
        middleware: [requireScope('secrets'), limitEntryBody],
        request: { params: secretParams, body: jsonBody('No answer holds it.', newSecretSchema) },
        responses: {
          204: { description: 'It is sealed.' },
          ...refusals,
          ...bodyRefusals,
          ...notFoundRefusal,
        },
      },
      (context) => {
        const { name } = context.req.valid('param');
        secrets.set(context.var.caller.user, name, context.req.valid('json').value);
        return context.body(null, 204);
      },
    ),
    defineRoute(
      {
        method: 'delete',
        path: `${path}/{name}`,
        summary: 'Remove a secret',
        tags,
        security,
        middleware: requireScope('secrets'),
        request: { params: secretParams },
        responses: {
          200: json('Whether there was one.', removedSchema),
          ...refusals,
          ...notFoundRefusal,
        },
      },
      (context) => {
        const removed = secrets.remove(context.var.caller.user, context.req.valid('param').name);
        return context.json({ removed }, 200);
      },
    ),
    defineRoute(
      {
        method: 'post',
        path: `${path}/rotate`,
        summary: 'Seal the secrets of all users with a new key',
        tags,
        security,
        middleware: requireScope('admin'),
        responses: { 200: json('It is done.', rotatedSchema), ...refusals },
      },
      (context) => context.json({ sealed: secrets.rotate() }, 200),
    ),
  ] as const;
}
