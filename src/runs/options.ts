import { posix } from 'node:path';
import { z } from 'zod';
import type { Cancel } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import { commandEnvSchema, textSchema } from '../link/command.ts';
import type { EgressSpec } from '../seams/egress.ts';
import { checkLimits, type Limits } from '../seams/limits.ts';
import type { Command } from '../seams/process.ts';
import type { RuntimeName } from '../seams/runtime.ts';
import type { Grade } from '../seams/sandbox.ts';

/** Options of a run besides its code. All are checked before anything is created. */
export interface RunOptions extends Cancel {
  readonly argv?: readonly string[];
  readonly stdin?: NonNullable<Command['stdin']>;
  readonly env?: Readonly<Record<string, string>>;
  /** Content by path, below the code's folder. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** Paths, folders or globs of files to return. */
  readonly artifacts?: readonly string[];
  /** Where the code starts, below its folder; created if missing. */
  readonly cwd?: string;
  /** Timeout of the code alone. Default 60 s; `null`: no limit. */
  readonly timeoutMs?: number | null;
  /** Default 256 MiB (1 GiB with a compiler), one CPU, 256 processes, if the runtime can enforce them. */
  readonly limits?: Limits;
  /** Upper bounds of the run's limits, defaults included. */
  readonly most?: Limits;
  /** In place of the language's own. */
  readonly image?: string;
  readonly runtime?: RuntimeName;
  /** Refuse anything weaker than this. */
  readonly minimumGrade?: Grade;
  /** The user, for fair turns in the queue. */
  readonly user?: string;
  /** The network policy; `null`: no hatch either. Default: the user's default policy. */
  readonly egress?: EgressSpec | null;
}

export const defaultTimeoutMs = 60_000;
const longestTimeoutMs = 24 * 3_600_000;
const mostFiles = 10_000;

const schema = z.object({
  argv: z.array(textSchema).optional(),
  env: commandEnvSchema.optional(),
  files: z.record(textSchema, z.union([z.string(), z.instanceof(Uint8Array)])).optional(),
  artifacts: z.array(textSchema.min(1)).optional(),
  cwd: textSchema.optional(),
  timeoutMs: z.number().positive().max(longestTimeoutMs).nullable().optional(),
});

/** Refuses settings that no sandbox could have; a runtime refuses those that only it cannot provide. */
export function checkRunOptions(options: RunOptions, source: string): void {
  const parsed = schema.safeParse(options);
  if (!parsed.success) {
    throw new GeodeError('invalid_input', `The run is not valid: ${z.prettifyError(parsed.error)}`);
  }
  checkLimits(options.limits ?? {});
  const { files = {}, cwd = '.' } = options;
  const paths = Object.keys(files);
  if (paths.length > mostFiles)
    throw new GeodeError('too_large', `The run has ${paths.length} files; the maximum is ${mostFiles}.`);
  for (const path of [...paths, cwd]) checkInside(path);
  if (paths.some((path) => posix.normalize(path) === source)) {
    throw new GeodeError(
      'invalid_input',
      `The file ${source} is the code itself; use another name for the input.`,
    );
  }
}

/** Whether a relative path stays below its start folder. */
export function isRelativePath(path: string): boolean {
  const normal = posix.normalize(path);
  return !posix.isAbsolute(normal) && normal !== '..' && !normal.startsWith('../') && path !== '';
}

function checkInside(path: string): void {
  if (!isRelativePath(path))
    throw new GeodeError('invalid_path', `${JSON.stringify(path)} is not below the folder of the run.`);
}
