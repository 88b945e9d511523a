/** What the server says of itself and its store. */
import { z } from 'zod';
import { endEvent, problemEvent, progressEvent } from './problem.ts';

export const reindexEventSchema = z
  .discriminatedUnion('type', [progressEvent, endEvent, problemEvent])
  .meta({ id: 'ReindexEvent' });

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
  .meta({ id: 'Stats' });

export const healthSchema = z.object({ status: z.literal('up'), version: z.string() }).meta({ id: 'Health' });

export const readinessSchema = z
  .object({
    status: z.enum(['up', 'degraded', 'down', 'stopping']),
    parts: z.array(z.object({ name: z.string(), state: z.enum(['up', 'down', 'working']) })),
    pending: z.int().describe('Entries that are stored and not yet indexed.'),
  })
  .meta({ id: 'Readiness' });

export type ReindexEvent = z.infer<typeof reindexEventSchema>;
export type Stats = z.infer<typeof statsSchema>;
export type Readiness = z.infer<typeof readinessSchema>;

export const leaveSchema = z.object({ leaves: z.boolean() }).meta({ id: 'Leave' });

export const machineSchema = z
  .object({
    cpus: z.int(),
    load: z.number().describe('Processes that run or wait to, on average over a minute.'),
    memory_bytes: z.object({ used: z.number(), total: z.number() }),
  })
  .meta({ id: 'Machine' });

export type WireMachine = z.infer<typeof machineSchema>;
