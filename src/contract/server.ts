/** The state of the server and its store, in wire format. */

import { z } from 'zod';
import { checksSchema, hostStatusSchema, runtimesSchema, settingsSchema } from './host.ts';
import { family } from './operation.ts';
import { endEvent, problemEvent, progressEvent } from './problem.ts';

const reindexEventSchema = z
  .discriminatedUnion('type', [progressEvent, endEvent, problemEvent])
  .meta({ id: 'ReindexEvent' });

const statsSchema = z
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

const healthSchema = z.object({ status: z.literal('up'), version: z.string() }).meta({ id: 'Health' });

const readinessSchema = z
  .object({
    status: z.enum(['up', 'degraded', 'down', 'stopping']),
    parts: z.array(z.object({ name: z.string(), state: z.enum(['up', 'down', 'working']) })),
    pending: z.int().describe('Stored entries that are not yet indexed.'),
  })
  .meta({ id: 'Readiness' });

export type ReindexEvent = z.infer<typeof reindexEventSchema>;
export type Stats = z.infer<typeof statsSchema>;
export type Readiness = z.infer<typeof readinessSchema>;

const leaveSchema = z.object({ leaves: z.boolean() }).meta({ id: 'Leave' });

const machineSchema = z
  .object({
    cpus: z.int(),
    load: z.number().describe('Running or runnable processes, averaged over a minute.'),
    memory_bytes: z.object({ used: z.number(), total: z.number() }),
  })
  .meta({ id: 'Machine' });

export type WireMachine = z.infer<typeof machineSchema>;

export const server = family({
  health: {
    route: 'GET /health',
    tag: 'server',
    scope: 'nobody',
    summary: 'Check that the server is up',
    answer: { description: 'It is.', schema: healthSchema },
  },
  ready: {
    route: 'GET /ready',
    tag: 'server',
    scope: 'nobody',
    summary: 'Check that the server is ready, with the state of each part',
    answer: {
      description: 'Ready; `degraded` means that one half of search is down.',
      schema: readinessSchema,
      or: { 503: 'Not ready.' },
    },
  },
  runtimes: {
    route: 'GET /api/v1/runtimes',
    tag: 'server',
    scope: 'sandboxes:read',
    summary: 'List runtimes and their isolation',
    answer: {
      description: 'Every runtime, with the reason if it is not available.',
      schema: runtimesSchema,
      field: 'runtimes',
    },
  },
  settings: {
    route: 'GET /api/v1/settings',
    tag: 'server',
    scope: 'admin',
    summary: 'List settings with their value and source',
    answer: { description: 'The settings; secrets are masked.', schema: settingsSchema, field: 'settings' },
  },
  doctor: {
    route: 'GET /api/v1/doctor',
    tag: 'server',
    scope: 'admin',
    summary: "Check the host's machine",
    description: 'Checks folders and runs a command in every runtime, so it may take a while.',
    answer: { description: 'Each check with its next step.', schema: checksSchema, field: 'checks' },
  },
  machine: {
    route: 'GET /api/v1/machine',
    tag: 'server',
    scope: 'sandboxes:read',
    summary: 'Show the load of the machine',
    answer: { description: 'The current load.', schema: machineSchema },
  },
  status: {
    route: 'GET /api/v1/host',
    tag: 'server',
    scope: 'admin',
    summary: 'Show whether the host is healthy, and what it is doing',
    answer: { description: 'Its state, a check of each part, and its work.', schema: hostStatusSchema },
  },
  leave: {
    route: 'POST /api/v1/host/leave',
    tag: 'server',
    scope: 'admin',
    summary: 'Ask this host to exit for another one (local socket only)',
    answer: {
      description: 'Whether it exits now. It does not while it has work.',
      schema: leaveSchema,
      field: 'leaves',
    },
  },
});

export const memory = family({
  stats: {
    route: 'GET /api/v1/memory/stats',
    tag: 'memory',
    scope: 'admin',
    summary: 'Show the size of the memory of all users',
    answer: { description: 'Counts, sizes and the model.', schema: statsSchema },
  },
  reindex: {
    route: 'POST /api/v1/memory/reindex',
    tag: 'memory',
    scope: 'admin',
    summary: 'Embed and index all entries again',
    description: 'Search keeps working. Stops if the caller disconnects.',
    stream: { description: 'Its progress.', schema: reindexEventSchema },
  },
});
