/** The resource usage of a sandbox at one moment. */
import { z } from 'zod';
import { endEvent, problemEvent } from './problem.ts';

const part = z.object({ used: z.number(), limit: z.number().nullable() });

const counted = part.extend({
  soft: z.boolean().describe('The guest enforces the limit by counting; it may be exceeded briefly.'),
});

export const usageSchema = z
  .object({
    at: z.number(),
    cpus: part.describe('Average CPUs used since the last measurement.'),
    memory_bytes: counted,
    pids: counted.describe('Tasks, threads included.'),
    disk_bytes: z.object({ used: z.number(), limit: z.number() }).nullable(),
    processes: z.number(),
    oom_kills: z.number(),
  })
  .meta({ id: 'Usage' });

export const usageQuery = z.strictObject({
  every_ms: z.coerce.number().int().min(100).max(3_600_000).default(1000),
});

export const usageEventSchema = z
  .discriminatedUnion('type', [usageSchema.extend({ type: z.literal('usage') }), endEvent, problemEvent])
  .meta({ id: 'UsageEvent' });
