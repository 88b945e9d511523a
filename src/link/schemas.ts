import { z } from 'zod';

/** The guest's answers about processes, whose shape is not trusted. */
export const guestExitSchema = z
  .object({
    exitCode: z.number().int().nullable(),
    signal: z.string().max(16).nullable(),
    timedOut: z.boolean(),
    oomKilled: z.boolean(),
    durationMs: z.number().nonnegative(),
  })
  .refine((exit) => (exit.exitCode === null) !== (exit.signal === null), 'one of exitCode and signal');

export const startedSchema = z.object({ id: z.string(), pid: z.number().int().nonnegative() });

const childSchema = z.object({ pid: z.number(), ppid: z.number(), command: z.string() });

/** Zero is the size of a terminal that was given none, or that is gone. */
const side = z.number().int().min(0).max(65_535);

export const processListSchema = z.object({
  processes: z.array(
    z.object({
      id: z.string().max(64),
      pid: z.number(),
      argv: z.array(z.string()),
      startedAt: z.number(),
      state: z.enum(['running', 'exited']),
      offset: z.number().int().nonnegative(),
      acked: z.number().int().nonnegative(),
      terminal: z.object({ columns: side, rows: side }).nullable().default(null),
      exit: guestExitSchema.nullable(),
      children: z.array(childSchema),
    }),
  ),
  disowned: z.array(childSchema),
});

export const metricsSchema = z.object({
  memoryBytes: z.number(),
  cpuMs: z.number(),
  pids: z.number(),
  processes: z.number(),
  guestRssBytes: z.number(),
  uptimeMs: z.number(),
  oomKills: z.number(),
  /** The file system of the workdir, which others may use too. */
  disk: z.object({ device: z.number(), usedBytes: z.number(), totalBytes: z.number() }).nullable(),
});
