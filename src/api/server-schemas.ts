/** What the server says of itself, its keys and its store. */
import { z } from '@hono/zod-openapi';
import { userPattern } from '../core/identity.ts';
import { scopes } from './keys.ts';
import { endEvent, pathId, problemEvent, progressEvent } from './schemas.ts';

export const reindexEventSchema = z
  .discriminatedUnion('type', [progressEvent, endEvent, problemEvent])
  .openapi('ReindexEvent');

export const statsSchema = z
  .object({
    store: z.enum(['sqlite', 'qdrant']),
    entries: z.int(),
    namespaces: z.int(),
    versions: z.int().describe('Earlier versions that are kept.'),
    vectors: z.int(),
    bytes_on_disk: z.int(),
    model: z.string(),
    dimensions: z.int(),
  })
  .openapi('Stats');

export const healthSchema = z.object({ status: z.literal('up'), version: z.string() }).openapi('Health');

export const readinessSchema = z
  .object({
    status: z.enum(['up', 'degraded', 'down', 'stopping']),
    parts: z.array(z.object({ name: z.string(), state: z.enum(['up', 'down', 'working']) })),
    pending: z.int().describe('Entries that are stored and not yet indexed.'),
  })
  .openapi('Readiness');

const keySchema = z
  .object({
    id: z.string(),
    user: z.string(),
    scopes: z.array(z.enum(scopes)),
    label: z.string(),
    created_at: z.iso.datetime(),
    revoked_at: z.iso.datetime().nullable(),
  })
  .openapi('Key');

export const keysSchema = z.object({ keys: z.array(keySchema) }).openapi('Keys');

export const createdKeySchema = keySchema.extend({ secret: z.string() }).openapi('CreatedKey');

export const newKeySchema = z
  .strictObject({
    user: z.string().regex(userPattern),
    scopes: z.array(z.enum(scopes)).min(1),
    label: z.string().max(200).optional(),
  })
  .openapi('NewKey');

export const keyParamSchema = z.object({
  id: z
    .string()
    .regex(/^[0-9a-f]{12}$/)
    .openapi(pathId),
});

export type ReindexEvent = z.infer<typeof reindexEventSchema>;
export type Stats = z.infer<typeof statsSchema>;
export type Readiness = z.infer<typeof readinessSchema>;
export type WireKey = z.infer<typeof keySchema>;
