/** Facts and settings of a host, in wire format. */
import { z } from 'zod';
import { softLimitNames } from '../seams/limits.ts';
import { networks } from '../seams/sandbox.ts';
import { gradeSchema, runtimeSchema } from './sandboxes.ts';

const capabilitiesSchema = z.object({
  isolation: z.boolean(),
  limits: z.object({ memory: z.boolean(), cpus: z.boolean(), pids: z.boolean(), disk: z.boolean() }),
  soft_limits: z
    .array(z.enum(softLimitNames))
    .describe('Limits that the guest enforces by counting, because the host has no control group for them.'),
  images: z.boolean(),
  networks: z.array(z.enum(networks)),
  mounts: z.boolean(),
  users: z.enum(['always', 'root-access', 'never']),
  adoption: z.boolean(),
  pause: z.boolean(),
  checkpoints: z.boolean(),
});

export const runtimesSchema = z
  .object({
    runtimes: z.array(
      z.discriminatedUnion('available', [
        z.object({
          name: runtimeSchema,
          available: z.literal(true),
          grade: gradeSchema,
          version: z.string(),
          capabilities: capabilitiesSchema,
        }),
        z.object({
          name: runtimeSchema,
          available: z.literal(false),
          reason: z.string(),
          fix: z.string().describe('How to make it available.'),
        }),
      ]),
    ),
  })
  .meta({ id: 'Runtimes' });

const checkSchema = z.object({
  name: z.string(),
  state: z.enum(['ok', 'warning', 'problem']),
  found: z.string(),
  fix: z.string().optional().describe('The next step.'),
  grade: gradeSchema.optional().describe('The isolation of a command that this check ran.'),
});

export const checksSchema = z.object({ checks: z.array(checkSchema) }).meta({ id: 'Checks' });

export const hostStatusSchema = z
  .object({
    state: z
      .enum(['healthy', 'impaired', 'stopping'])
      .describe('impaired: something that people need does not work; the checks say what.'),
    version: z.string(),
    pid: z.int(),
    started_at: z.number().describe('In ms since 1970.'),
    checks: z.array(checkSchema),
    work: z.object({
      runs: z.object({ running: z.int(), waiting: z.int() }),
      turns: z.int().describe("Agents' turns in progress."),
      sandboxes: z.record(z.string(), z.int()).describe('By state.'),
      messages: z
        .int()
        .nullable()
        .describe('Messages of chats without an answer; null where PostgreSQL has them.'),
      approvals: z.int().describe('Requests that wait for a person.'),
      unindexed: z.int().describe('Entries that the index of memory does not have yet.'),
    }),
    memory_bytes: z.int().describe('Of the process.'),
    delay_ms: z.int().describe('How late a timer of the host fires.'),
  })
  .meta({ id: 'HostStatus' });

export const settingsSchema = z
  .object({
    settings: z.array(
      z.object({
        name: z.string(),
        value: z.unknown().describe('`***` for a secret that is set.'),
        source: z.discriminatedUnion('from', [
          z.object({ from: z.literal('default') }),
          z.object({ from: z.literal('file'), path: z.string() }),
          z.object({ from: z.literal('variable'), name: z.string() }),
        ]),
        meaning: z.string(),
      }),
    ),
  })
  .meta({ id: 'Settings' });
