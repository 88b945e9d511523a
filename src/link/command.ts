import { z } from 'zod';
import { GeodeError } from '../base/errors.ts';
import { type Command, rlimitNames, variableName } from '../seams/process.ts';
import type { GuestCommand } from './attachment.ts';

const defaultTimeoutMs = 60_000;
const longestTimeoutMs = 7 * 24 * 3_600_000;
const largestCommand = 1024 ** 2;

/** Valid as an argument or a variable of a program. */
export const textSchema = z.string().refine((value) => !value.includes('\0'), 'must not contain a NUL byte');
export const commandEnvSchema = z.record(z.string().regex(variableName, 'is not a valid name'), textSchema);
const side = z.number().int().min(1).max(10_000);

const commandSchema = z.object({
  argv: z
    .array(textSchema)
    .min(1)
    .refine((argv) => argv[0] !== '', 'must start with a program'),
  cwd: textSchema.optional(),
  env: commandEnvSchema.optional(),
  user: z
    .string()
    .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]*(:\d+)?$/, 'must be a name, a uid, or uid:gid')
    .optional(),
  timeoutMs: z.number().positive().max(longestTimeoutMs).nullable().optional(),
  pty: z.object({ columns: side, rows: side }).optional(),
  rlimits: z.partialRecord(z.enum(rlimitNames), z.number().int().nonnegative()).optional(),
  files: z.record(textSchema, z.instanceof(Uint8Array)).optional(),
  sole: z.boolean().optional(),
  opening: z.instanceof(Uint8Array).optional(),
});

/** When the guest kills it; undefined: never. */
export function timeoutOf({ timeoutMs = defaultTimeoutMs }: Command): number | undefined {
  return timeoutMs ?? undefined;
}

/** A command in the guest's format. Values out of range are refused by name, never clamped. */
export function guestCommand(id: string, command: Command): GuestCommand {
  const parsed = commandSchema.safeParse(command);
  if (!parsed.success) {
    throw new GeodeError('invalid_input', `The command is not valid: ${z.prettifyError(parsed.error)}`);
  }
  const {
    argv,
    cwd = '',
    env = {},
    user = '',
    timeoutMs = defaultTimeoutMs,
    pty = null,
    rlimits = {},
    files,
    sole,
    opening,
  } = parsed.data;
  const spec: GuestCommand = {
    id,
    argv,
    cwd,
    env,
    user,
    timeoutMs: timeoutMs ?? 0,
    stdin: command.stdin !== undefined || command.interactive || pty !== null ? 'open' : 'none',
    pty,
    rlimits: Object.fromEntries(Object.entries(rlimits).map(([name, value]) => [name, [value, value]])),
    ...(files === undefined ? {} : { files: eachInBase64(files) }),
    ...(sole === undefined ? {} : { sole }),
    ...(opening === undefined ? {} : { opening: inBase64(opening) }),
  };
  const size = Buffer.byteLength(JSON.stringify(spec));
  if (size > largestCommand) {
    throw new GeodeError(
      'too_large',
      `The command has ${size} bytes with its environment; the maximum is ${largestCommand}.`,
      {
        hint: 'Write the large part to a file in the sandbox, or send it through stdin.',
      },
    );
  }
  return spec;
}

function eachInBase64(files: Readonly<Record<string, Uint8Array>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(files).map(([path, content]) => [path, inBase64(content)]));
}

function inBase64({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
}
