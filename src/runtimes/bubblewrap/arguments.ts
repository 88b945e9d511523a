import { lstat, readlink } from 'node:fs/promises';
import type { Mount } from '../../seams/sandbox.ts';
import type { SandboxUser } from '../accounts.ts';
import { firstLeaseMs, usualHome, workdir } from '../spec.ts';
import { imageArguments } from './image-root.ts';

/** The parts of the host's file system that programs need, read-only and without secrets. */
const systemFolders = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
const systemFiles = [
  '/etc/alternatives',
  '/etc/ca-certificates',
  '/etc/fonts',
  '/etc/ld.so.cache',
  '/etc/ld.so.conf',
  '/etc/ld.so.conf.d',
  '/etc/localtime',
  '/etc/matplotlibrc',
  '/etc/mime.types',
  '/etc/os-release',
  '/etc/ssl/certs',
];

const sharedMemoryBytes = 64 * 1024 ** 2;

/** Limits without a control group; null: none. */
export interface SoftBounds {
  readonly memoryBytes: number | null | undefined;
  readonly pids: number | null | undefined;
}

export interface BubblewrapRoom {
  readonly workspace: string;
  readonly linkFolder: string;
  /** Folder with the sandbox's own `passwd` and `group`. */
  readonly etcFolder: string;
  readonly guest: string;
  /** A control group whose counters the guest may read. */
  readonly cgroup: string | undefined;
  readonly soft: SoftBounds;
  readonly mounts: readonly Required<Mount>[];
  /** File descriptor 4 holds a system call filter. */
  readonly seccomp: boolean;
  readonly tmpBytes: number;
  /**
   * As root the guest starts with only the capabilities needed to become `user`; otherwise a user namespace maps it.
   */
  readonly asRoot: boolean;
  readonly user: SandboxUser;
  /** The root of an image instead of the machine's own programs. */
  readonly imageRoot: string | undefined;
}

/** The command line of `bwrap`: options for the walls, then the guest. */
export async function bubblewrapArguments(room: BubblewrapRoom): Promise<readonly string[]> {
  const { uid, gid } = room.user;
  const init = ['--dial', '/.geode/link/s', '--lease', String(firstLeaseMs)];
  return [
    ...['--unshare-pid', '--unshare-net', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ...(room.asRoot
      ? [
          '--cap-drop',
          'ALL',
          ...['SETUID', 'SETGID', 'SETPCAP'].flatMap((name) => ['--cap-add', `CAP_${name}`]),
        ]
      : [
          '--unshare-user',
          '--disable-userns',
          '--uid',
          String(uid),
          '--gid',
          String(gid),
          '--cap-drop',
          'ALL',
        ]),
    ...(room.seccomp ? ['--seccomp', '4'] : []),
    ...['--as-pid-1', '--hostname', 'sandbox', '--clearenv', '--info-fd', '3'],
    ...['--perms', '0755', '--dir', '/.geode'],
    ...(room.imageRoot === undefined ? await machineArguments() : await imageArguments(room.imageRoot)),
    ...[
      '--ro-bind',
      `${room.etcFolder}/passwd`,
      '/etc/passwd',
      '--ro-bind',
      `${room.etcFolder}/group`,
      '/etc/group',
    ],
    ...['--proc', '/proc', '--dev', '/dev'],
    ...['--perms', '1777', '--size', String(sharedMemoryBytes), '--tmpfs', '/dev/shm'],
    ...['--perms', '1777', '--size', String(room.tmpBytes), '--tmpfs', '/tmp'],
    ...['--perms', '1777', '--size', String(room.tmpBytes), '--tmpfs', '/var/tmp'],
    ...['--bind', room.workspace, workdir],
    ...(room.imageRoot === undefined
      ? ['--perms', '0755', '--dir', '/home', '--symlink', workdir, usualHome]
      : []),
    ...['--ro-bind', room.guest, '/.geode/guest', '--ro-bind', room.linkFolder, '/.geode/link'],
    ...(room.cgroup === undefined ? [] : ['--ro-bind', room.cgroup, '/.geode/cgroup']),
    // Otherwise bwrap creates them for itself only, and the sandbox's user cannot pass.
    ...foldersAbove(room.mounts).flatMap((path) => ['--perms', '0755', '--dir', path]),
    ...room.mounts.flatMap(({ source, target, writable }) => [
      writable ? '--bind' : '--ro-bind',
      source,
      target,
    ]),
    ...['--remount-ro', '/', '--chdir', '/', '--', '/.geode/guest', 'init', ...init],
    ...(room.cgroup === undefined ? [] : ['--cgroup', '/.geode/cgroup']),
    ...(room.asRoot ? ['--user', `${uid}:${gid}`] : []),
    ...(room.soft.memoryBytes == null ? [] : ['--soft-memory', String(room.soft.memoryBytes)]),
    ...(room.soft.pids == null ? [] : ['--soft-pids', String(room.soft.pids)]),
  ];
}

/** The machine's own programs, and the settings that they need. */
async function machineArguments(): Promise<readonly string[]> {
  return [
    ...['/etc', '/etc/ssl'].flatMap((path) => ['--perms', '0755', '--dir', path]),
    ...(await systemArguments()),
    ...systemFiles.flatMap((path) => ['--ro-bind-try', path, path]),
  ];
}

/** The parent folders of all mount points, outermost first. */
function foldersAbove(mounts: BubblewrapRoom['mounts']): readonly string[] {
  const all = mounts.flatMap(({ target }) => {
    const names = target.split('/').slice(1, -1);
    return names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`);
  });
  return [...new Set(all)];
}

/** The machine's own programs. On merged-usr systems the other folders are links into /usr and stay links. */
export async function systemArguments(): Promise<readonly string[]> {
  const parts = systemFolders.map(async (path) => {
    const facts = await lstat(path).catch(() => undefined);
    if (facts === undefined) return [];
    return facts.isSymbolicLink() ? ['--symlink', await readlink(path), path] : ['--ro-bind', path, path];
  });
  return ['--ro-bind', '/usr', '/usr', ...(await Promise.all(parts)).flat()];
}
