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

export const checksSchema = z
  .object({
    checks: z.array(
      z.object({
        name: z.string(),
        state: z.enum(['ok', 'warning', 'problem']),
        found: z.string(),
        fix: z.string().optional().describe('The next step.'),
        grade: gradeSchema.optional().describe('The isolation of a command that this check ran.'),
      }),
    ),
  })
  .meta({ id: 'Checks' });

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
