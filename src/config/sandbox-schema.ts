import { z } from 'zod';
import type { Machine } from '../machine/machine.ts';
import { defaultLimits, defaultMostLimits } from '../seams/limits.ts';
import { runtimeNames } from '../seams/runtime.ts';
import { defaultStrictPrograms } from '../seams/shell-policy.ts';
import { count, folder, positive, size } from './setting-types.ts';

type LimitSetting = 'memory' | 'cpus' | 'pids' | 'disk' | 'open_files';
const limitSettings: readonly (readonly [LimitSetting, keyof typeof defaultLimits])[] = [
  ['memory', 'memoryBytes'],
  ['cpus', 'cpus'],
  ['pids', 'pids'],
  ['disk', 'diskBytes'],
  ['open_files', 'openFiles'],
];

/** Sandboxes without a limit of their own would exceed such a maximum. */
function refuseMaximaBelowDefaults(
  section: { readonly [K in LimitSetting | `max_${LimitSetting}`]?: number | null | undefined },
  context: z.RefinementCtx,
): void {
  for (const [setting, name] of limitSettings) {
    const most = section[`max_${setting}`];
    if (most == null || section[setting] !== undefined || most >= defaultLimits[name]) continue;
    context.addIssue({
      code: 'custom',
      path: [`max_${setting}`],
      message: `is below the default of a sandbox, ${defaultLimits[name]}: set sandbox.${setting} to at most this value`,
    });
  }
}

export const runtimeSettings = z
  .strictObject({
    name: z
      .enum(['auto', ...runtimeNames])
      .default('auto')
      .describe('runtime; auto takes the strongest that works, never native'),
    allow_fallback_to_native: z
      .boolean()
      .default(false)
      .describe('run without isolation if no other runtime works'),
  })
  .prefault({});

export function dockerSettings(machine: Machine) {
  return z
    .strictObject({
      host: z
        .string()
        .default(machine.dockerHost ?? 'unix:///var/run/docker.sock')
        .describe('Docker or Podman: unix:///socket, tcp://host:port or ssh://user@host[:port][/socket]'),
      tls_ca: folder.optional().describe('PEM file of the CA for tcp://'),
      tls_cert: folder.optional().describe('PEM file of the client certificate for tcp://'),
      tls_key: folder.optional().describe('PEM file of the client key'),
      ssh_config: folder.optional().describe("ssh configuration file (default: the user's own)"),
      image: z.string().min(1).default('alpine:3.22').describe('default image of sandboxes'),
      oci_runtime: z.string().min(1).optional().describe('engine runtime: runsc, kata, crun, …'),
      link: z.enum(['auto', 'socket', 'stdio']).default('auto').describe('how the guest is reached'),
    })
    .prefault({});
}

export const ociSettings = z
  .strictObject({
    program: z
      .string()
      .min(1)
      .default('auto')
      .describe('runsc (gVisor), runc or crun, by name or path; auto takes the first that is installed'),
    image: z.string().min(1).default('alpine:3.22').describe('default image of sandboxes'),
  })
  .prefault({});

export const appleSettings = z
  .strictObject({
    program: z.string().min(1).default('container').describe("Apple's container program"),
    image: z.string().min(1).default('alpine:3.22').describe('default image of sandboxes'),
  })
  .prefault({});

export function sandboxSettings(machine: Machine) {
  return z
    .strictObject({
      state_dir: folder.default(machine.stateDir).describe('folder of records, workspaces and journals'),
      run_dir: folder.default(machine.runDir).describe('folder of sockets; path of at most 45 bytes'),
      first_uid: z
        .number()
        .int()
        .min(1_000)
        .max(2_000_000_000)
        .nullable()
        .default(1_900_000)
        .describe('first user id for the sandboxes of a root host, one each; null: they share one user'),
      uids: positive.int().max(1_000_000).default(65_536).describe('number of such user ids'),
      memory: size.nullable().optional().describe('memory limit: "512m", "2g"; null: no limit'),
      cpus: positive.nullable().optional().describe('CPU limit, may be a fraction; null: no limit'),
      pids: positive.int().nullable().optional().describe('maximum processes; null: no limit'),
      disk: size.nullable().optional().describe('disk limit of the workspace: "10g"; null: no limit'),
      open_files: positive
        .int()
        .nullable()
        .optional()
        .describe('maximum open files of a process; null: no limit'),
      max_memory: size
        .nullable()
        .default(defaultMostLimits.memoryBytes)
        .describe('highest memory limit without the scope admin: "4g"; null: no maximum'),
      max_cpus: positive
        .nullable()
        .default(defaultMostLimits.cpus)
        .describe('highest CPU limit without the scope admin; null: no maximum'),
      max_pids: positive
        .int()
        .nullable()
        .default(defaultMostLimits.pids)
        .describe('highest process limit without the scope admin; null: no maximum'),
      max_disk: size
        .nullable()
        .default(defaultMostLimits.diskBytes)
        .describe('highest disk limit without the scope admin: "64g"; null: no maximum'),
      max_open_files: positive
        .int()
        .nullable()
        .default(defaultMostLimits.openFiles)
        .describe('highest limit of open files without the scope admin; null: no maximum'),
      most: positive.int().default(64).describe('maximum running sandboxes'),
      most_per_user: positive.int().default(16).describe('maximum running sandboxes of one user'),
      idle_timeout: positive
        .nullable()
        .default(1800)
        .describe('idle seconds until a sandbox is stopped; null: never'),
      idle: z
        .enum(['stop', 'hibernate'])
        .default('stop')
        .describe(
          'for an idle sandbox; hibernate: on gVisor its memory is saved, and waiting processes continue at the next use',
        ),
      remove_after: positive
        .nullable()
        .default(null)
        .describe('idle seconds until a sandbox and its files are removed; null: never'),
      journals: size
        .nullable()
        .default(4 * 1024 ** 3)
        .describe(
          'maximum output of ended processes of one user, across sandboxes; the oldest is removed first; null: no limit',
        ),
      checkpoints: size
        .nullable()
        .default(32 * 1024 ** 3)
        .describe('maximum size of the checkpoints of one user, across sandboxes; null: no limit'),
      sweep_every: positive.default(60).describe('seconds between two checks for idle sandboxes'),
      lease: positive.default(86_400).describe('seconds that a sandbox keeps running without a host'),
      ready: count.default(1).describe('blank sandboxes kept ready for new chats'),
      linger: count
        .default(60)
        .describe('seconds that the background host stays after the last command; 0: no background host'),
    })
    .superRefine(refuseMaximaBelowDefaults)
    .prefault({});
}

export const securitySettings = z
  .strictObject({
    shell: z.enum(['standard', 'strict', 'permissive']).default('standard').describe('command policy'),
    shell_programs: z
      .array(z.string())
      .default([...defaultStrictPrograms])
      .describe('commands that strict allows'),
    mount_roots: z.array(folder).default([]).describe('folders below which mounts are allowed'),
    writable_mount_roots: z
      .array(folder)
      .default([])
      .describe('folders of these that may be mounted writable'),
  })
  .prefault({});
