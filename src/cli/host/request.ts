import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Config } from '../../config/schema.ts';
import { type CliCommand, type CliContext, texts } from '../command.ts';
import { version } from '../version.ts';

/** A terminal that nobody has given a size has 0. */
const size = {
  columns: z.number().int().nonnegative().optional(),
  rows: z.number().int().nonnegative().optional(),
};
export const sizeSchema = z.object(size);

const requestSchema = z.object({
  /** Whose rules the sender goes by. */
  program: z.string(),
  settings: z.record(z.string(), z.unknown()),
  command: z.string(),
  argv: z.array(z.string()),
  cwd: z.string(),
  umask: z.number().int().min(0).max(0o777),
  /** The few that the command line names. */
  variables: z.record(z.string(), z.string()),
  colours: z.boolean(),
  stdin: z.object({ isTTY: z.boolean() }),
  stdout: z.object({ isTTY: z.boolean(), ...size }),
  stderr: z.object({ isTTY: z.boolean() }),
});
/** A command, and all that it needs to know of the place where it was typed. */
export type CommandRequest = z.infer<typeof requestSchema>;

export const refusalSchema = z.object({
  reason: z.string(),
  /** It ends, and makes room for another. */
  leaves: z.boolean(),
});
export type Refusal = z.infer<typeof refusalSchema>;

/** Undefined for what another version says. */
export function parseRequest(bytes: Buffer): CommandRequest | undefined {
  return requestSchema.safeParse(JSON.parse(bytes.toString())).data;
}

export function requestOf({ name }: CliCommand, context: CliContext, config: Config): CommandRequest {
  const { argv, values, cwd, host, streams, paint } = context;
  const { stdin, stdout, stderr } = streams;
  const named = texts(values, 'env').flatMap((setting) => {
    const value = setting.includes('=') ? undefined : host.variable(setting);
    return value === undefined ? [] : [[setting, value] as const];
  });
  return {
    program,
    settings: settingsOf(config),
    command: name,
    argv: [...argv],
    cwd,
    umask: host.umask,
    variables: Object.fromEntries(named),
    colours: paint('bold', '') !== '',
    stdin: { isTTY: stdin.isTTY === true },
    stdout: { isTTY: stdout.isTTY === true, columns: stdout.columns, rows: stdout.rows },
    stderr: { isTTY: stderr.isTTY === true },
  };
}

/** Two of the same version may still be two. */
const program = `${version} in ${fileURLToPath(new URL('../../..', import.meta.url))}`;

/**
 * What would make a command do something else in another process, by name. How long sandboxes stay and how many there
 * may be is not in it: that is for their host to say.
 */
export function settingsOf({ runtime, docker, apple, sandbox, security, runs, providers }: Config) {
  const { state_dir, run_dir, first_uid, uids, memory, cpus, pids, disk, open_files, lease } = sandbox;
  const sections = {
    runtime,
    docker,
    apple,
    sandbox: { state_dir, run_dir, first_uid, uids, memory, cpus, pids, disk, open_files, lease },
    security,
    runs: { pull_timeout: runs.pull_timeout },
    // Keys stay where they are.
    providers: { ...providers, services: markOf(providers.services) },
  };
  return namedValues(sections);
}

function namedValues(sections: Readonly<Record<string, object>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(sections).flatMap(([section, keys]) =>
      Object.entries(keys).map(([key, value]): [string, unknown] => [`${section}.${key}`, value]),
    ),
  );
}

/** Every setting that a host goes by, as a mark that shows a difference and tells nothing of the value. */
export function marksOf(config: Config): Readonly<Record<string, string>> {
  const { memory, qdrant, gateway } = config;
  const more = { memory, qdrant, gateway: { keys_file: gateway.keys_file } };
  const values = { ...settingsOf(config), ...namedValues(more), program };
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, markOf(value)]));
}

function markOf(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(value) ?? '')
    .digest('hex')
    .slice(0, 16);
}

/** Why a host that goes by these rules cannot run it as the sender would; undefined if it can. */
export function differenceFrom(
  request: CommandRequest | undefined,
  settings: CommandRequest['settings'],
): string | undefined {
  if (request?.program !== program) return `is another Geode, ${program}`;
  const names = new Set([...Object.keys(settings), ...Object.keys(request.settings)]);
  const differing = [...names].filter(
    (name) => JSON.stringify(settings[name]) !== JSON.stringify(request.settings[name]),
  );
  return differing.length === 0 ? undefined : `runs with other settings: ${differing.join(', ')}`;
}
