import { z } from 'zod';
import { userPattern } from '../base/identity.ts';
import type { Own } from './names.ts';
import { family, notFound } from './operation.ts';

/**
 * The scopes of a key. `agents` talks to agents, which use the sandboxes, the memory and the models of the key's
 * user. `secrets` sets and removes the user's secrets, but cannot read any. `approvals` lists and decides the user's
 * approvals. `users` lets a program of many people, such as Open WebUI, name the person at a door; each person is a
 * user of their own. `admin` manages keys, settings and the store for all users, but does not open their sandboxes or memory.
 */
export const scopes = [
  'memory:read',
  'memory:write',
  'sandboxes:read',
  'sandboxes:write',
  'runs',
  'agents',
  'secrets',
  'approvals',
  'users',
  'admin',
] as const;

export type Scope = (typeof scopes)[number];

const keySchema = z
  .object({
    id: z.string(),
    user: z.string(),
    scopes: z.array(z.enum(scopes)),
    label: z.string(),
    created_at: z.iso.datetime(),
    revoked_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Key' });

const keysSchema = z.object({ keys: z.array(keySchema) }).meta({ id: 'Keys' });

const createdKeySchema = keySchema.extend({ secret: z.string() }).meta({ id: 'CreatedKey' });

const newKeySchema = z
  .strictObject({
    user: z.string().regex(userPattern),
    scopes: z.array(z.enum(scopes)).min(1),
    label: z.string().max(200).optional(),
  })
  .meta({ id: 'NewKey' });

const keyParamSchema = z.object({
  id: z.string().regex(/^[0-9a-f]{12}$/),
});

export type Key = Own<z.infer<typeof keySchema>>;

export const keys = family({
  list: {
    route: 'GET /api/v1/keys',
    tag: 'keys',
    scope: 'admin',
    summary: 'List API keys',
    answer: { description: 'Oldest first, revoked ones too.', schema: keysSchema, field: 'keys' },
  },
  create: {
    route: 'POST /api/v1/keys',
    tag: 'keys',
    scope: 'admin',
    summary: 'Create an API key for a user',
    body: { description: 'The user and the scopes.', schema: newKeySchema },
    answer: { description: 'The key. The secret is shown only here.', schema: createdKeySchema, status: 201 },
  },
  revoke: {
    route: 'DELETE /api/v1/keys/{id}',
    tag: 'keys',
    scope: 'admin',
    summary: 'Revoke an API key',
    params: keyParamSchema,
    done: 'It is refused from now on.',
    refuses: notFound,
  },
});

/** The same key in the format of E2B's SDKs: `e2b_` and hexadecimal digits only. */
export function e2bForm(secret: string): string {
  const [, id = '', bytes = ''] = /^geode_([0-9a-f]{12})_([\w-]{43})$/.exec(secret) ?? [];
  return `e2b_${id}${Buffer.from(bytes, 'base64url').toString('hex')}`;
}
