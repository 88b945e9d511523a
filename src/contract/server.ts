/** What the server says of itself and its store. */

import { z } from 'zod';
import { checksSchema, runtimesSchema, settingsSchema } from './host.ts';
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
    pending: z.int().describe('Entries that are stored and not yet indexed.'),
  })
  .meta({ id: 'Readiness' });

export type ReindexEvent = z.infer<typeof reindexEventSchema>;
export type Stats = z.infer<typeof statsSchema>;
export type Readiness = z.infer<typeof readinessSchema>;

const leaveSchema = z.object({ leaves: z.boolean() }).meta({ id: 'Leave' });

const machineSchema = z
  .object({
    cpus: z.int(),
    load: z.number().describe('Processes that run or wait to, on average over a minute.'),
    memory_bytes: z.object({ used: z.number(), total: z.number() }),
  })
  .meta({ id: 'Machine' });

export type WireMachine = z.infer<typeof machineSchema>;

export const server = family({
  health: {
    route: 'GET /health',
    tag: 'server',
    scope: 'nobody',
    summary: 'Is the server there?',
    answer: { says: 'It is.', schema: healthSchema },
  },
  ready: {
    route: 'GET /ready',
    tag: 'server',
    scope: 'nobody',
    summary: 'Can the server do its work, and how is each part?',
    answer: {
      says: 'It can, or with one half of search when `degraded`.',
      schema: readinessSchema,
      or: { 503: 'It cannot.' },
    },
  },
  runtimes: {
    route: 'GET /api/v1/runtimes',
    tag: 'server',
    scope: 'sandboxes:read',
    summary: 'What can run here, with which isolation grade',
    answer: { says: 'Every runtime, or why it cannot.', schema: runtimesSchema, field: 'runtimes' },
  },
  settings: {
    route: 'GET /api/v1/settings',
    tag: 'server',
    scope: 'admin',
    summary: 'Every setting as it is in force, and where it came from',
    answer: { says: 'Secrets are masked.', schema: settingsSchema, field: 'settings' },
  },
  doctor: {
    route: 'GET /api/v1/doctor',
    tag: 'server',
    scope: 'admin',
    summary: 'Check the machine of the host: folders, and a command in every runtime',
    description: 'Takes as long as it takes to open a sandbox of each runtime that is there.',
    answer: { says: 'Each check with its next step.', schema: checksSchema, field: 'checks' },
  },
  machine: {
    route: 'GET /api/v1/machine',
    tag: 'server',
    scope: 'sandboxes:read',
    summary: 'How busy the machine is',
    answer: { says: 'At this moment.', schema: machineSchema },
  },
  leave: {
    route: 'POST /api/v1/host/leave',
    tag: 'server',
    scope: 'admin',
    summary: 'Ask this host to make room for another; only on its own socket',
    answer: { says: 'Whether it ends now; not while it has work.', schema: leaveSchema, field: 'leaves' },
  },
});

export const memory = family({
  stats: {
    route: 'GET /api/v1/memory/stats',
    tag: 'memory',
    scope: 'admin',
    summary: 'How large the memory of all users is',
    answer: { says: 'Counts, sizes and the model.', schema: statsSchema },
  },
  reindex: {
    route: 'POST /api/v1/memory/reindex',
    tag: 'memory',
    scope: 'admin',
    summary: 'Embed and index everything again while search goes on',
    description: 'Goes on as long as the caller listens.',
    stream: { says: 'Its progress.', schema: reindexEventSchema },
  },
});
