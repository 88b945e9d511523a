import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Mount } from '../../seams/sandbox.ts';
import type { SandboxUser } from '../accounts.ts';
import { seccompRules } from '../seccomp/profile.ts';
import { type CheckedSpec, firstLeaseMs, workdir } from '../spec.ts';

const largestTmpBytes = 256 * 1024 ** 2;
const sharedMemoryBytes = 64 * 1024 ** 2;
const mostProcessesOfUser = 32_768;
const periodUs = 100_000;
/** The ids that an image may use. */
const usualIds = 65_536;

/** Parts of /proc and /sys that reveal or change the machine. Docker hides the same. */
const maskedPaths = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];
const readonlyPaths = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

export interface BundlePlan {
  readonly root: string;
  readonly user: SandboxUser;
  /** The user that files of the sandbox have on the machine's disk. Only gVisor maps one to another. */
  readonly diskUser: SandboxUser;
  readonly guest: string;
  readonly linkFolder: string;
  readonly workspace: string;
  /** Folder with the sandbox's own `passwd` and `group`. */
  readonly etcFolder: string;
  /** A control group whose counters the guest may read. */
  readonly cgroup: string | undefined;
  /** The path of its control group below each hierarchy. */
  readonly cgroupsPath: string | undefined;
  readonly mounts: readonly Required<Mount>[];
  readonly arch: string;
  /** gVisor has a kernel of its own and ignores filters for the machine's. */
  readonly isGvisor: boolean;
}

/** Writes the `config.json` of a bundle, with every protection on. */
export async function writeBundle(folder: string, plan: BundlePlan, spec: CheckedSpec): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, 'config.json'), JSON.stringify(configOf(plan, spec)), { mode: 0o600 });
}

function configOf(plan: BundlePlan, { limits }: CheckedSpec) {
  const { user, diskUser, cgroup, isGvisor } = plan;
  const isMapped = user.uid !== diskUser.uid;
  const init = ['init', '--dial', '/.geode/link/s', '--lease', String(firstLeaseMs)];
  const none: string[] = [];
  return {
    ociVersion: '1.0.2',
    hostname: 'sandbox',
    root: { path: plan.root, readonly: true },
    process: {
      terminal: false,
      user: { uid: user.uid, gid: user.gid },
      args: ['/.geode/guest', ...init, ...(cgroup === undefined ? [] : ['--cgroup', '/.geode/cgroup'])],
      env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
      cwd: '/',
      noNewPrivileges: true,
      capabilities: { bounding: none, effective: none, inheritable: none, permitted: none, ambient: none },
      rlimits: [
        rlimit('RLIMIT_CORE', 0),
        rlimit('RLIMIT_NPROC', mostProcessesOfUser),
        ...(limits.openFiles == null ? [] : [rlimit('RLIMIT_NOFILE', limits.openFiles)]),
      ],
    },
    mounts: mountsOf(plan, Math.min(limits.memoryBytes ?? largestTmpBytes, largestTmpBytes)),
    linux: {
      namespaces: ['pid', 'network', 'ipc', 'uts', 'mount', ...(isMapped ? ['user'] : [])].map((type) => ({
        type,
      })),
      ...(isMapped && {
        uidMappings: mappingsOf(user.uid, diskUser.uid),
        gidMappings: mappingsOf(user.gid, diskUser.gid),
      }),
      maskedPaths,
      readonlyPaths,
      ...(isGvisor ? {} : { seccomp: seccompRules(plan.arch) }),
      ...(plan.cgroupsPath === undefined ? {} : { cgroupsPath: plan.cgroupsPath }),
      resources: {
        // Nothing in a sandbox may create a device; those of /dev are mounted.
        devices: [{ allow: false, access: 'rwm' }],
        ...(plan.cgroupsPath === undefined ? {} : resourcesOf(limits)),
      },
    },
  };
}

/** Maps each usual id to itself, and `inside` to `outside`. No other id inside maps to `outside`. */
function mappingsOf(inside: number, outside: number) {
  const same = (from: number, to: number) =>
    from < to ? [{ containerID: from, hostID: from, size: to - from }] : [];
  const [low, high] = inside < outside ? [inside, outside] : [outside, inside];
  return [
    { containerID: inside, hostID: outside, size: 1 },
    ...same(0, Math.min(low, usualIds)),
    ...same(low + 1, Math.min(high, usualIds)),
    ...same(high + 1, usualIds),
  ];
}

function resourcesOf({ memoryBytes, cpus, pids }: CheckedSpec['limits']) {
  return {
    ...(memoryBytes == null ? {} : { memory: { limit: memoryBytes } }),
    ...(cpus == null
      ? {}
      : { cpu: { period: periodUs, quota: Math.max(Math.round(cpus * periodUs), 1_000) } }),
    ...(pids == null ? {} : { pids: { limit: pids } }),
  };
}

function rlimit(type: string, value: number) {
  return { type, hard: value, soft: value };
}

function mountsOf(plan: BundlePlan, tmpBytes: number) {
  const quiet = ['nosuid', 'noexec', 'nodev'];
  return [
    { destination: '/proc', type: 'proc', source: 'proc', options: quiet },
    {
      destination: '/dev',
      type: 'tmpfs',
      source: 'tmpfs',
      options: ['nosuid', 'strictatime', 'mode=755', 'size=65536k'],
    },
    {
      destination: '/dev/pts',
      type: 'devpts',
      source: 'devpts',
      options: ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620'],
    },
    tmpfs('/dev/shm', sharedMemoryBytes, ['nosuid', 'noexec', 'nodev']),
    { destination: '/sys', type: 'sysfs', source: 'sysfs', options: [...quiet, 'ro'] },
    tmpfs('/tmp', tmpBytes, ['nosuid', 'nodev']),
    tmpfs('/var/tmp', tmpBytes, ['nosuid', 'nodev']),
    bind(plan.workspace, workdir, true),
    bind(plan.guest, '/.geode/guest', false, []),
    bind(plan.linkFolder, '/.geode/link', false),
    ...(plan.cgroup === undefined ? [] : [bind(plan.cgroup, '/.geode/cgroup', false)]),
    bind(join(plan.etcFolder, 'passwd'), '/etc/passwd', false),
    bind(join(plan.etcFolder, 'group'), '/etc/group', false),
    ...plan.mounts.map(({ source, target, writable }) => bind(source, target, writable)),
  ];
}

function tmpfs(destination: string, bytes: number, options: readonly string[]) {
  return { destination, type: 'tmpfs', source: 'tmpfs', options: [...options, 'mode=1777', `size=${bytes}`] };
}

function bind(
  source: string,
  destination: string,
  writable: boolean,
  more: readonly string[] = ['nosuid', 'nodev'],
) {
  return { destination, type: 'bind', source, options: ['rbind', writable ? 'rw' : 'ro', ...more] };
}
