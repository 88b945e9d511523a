import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  access,
  constants,
  lstat,
  mkdir,
  open,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
} from 'node:fs/promises';
import { basename, delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { GeodeError, reasonOf } from '../base/errors.ts';
import { absent } from './absent.ts';
import type { RuntimeOptions } from './options.ts';
import { ownFolder, type Room } from './rooms.ts';

/**
 * A workspace with a size: an ext4 file system in a sparse file, mounted at the workspace's folder. When it is full,
 * writes fail with ENOSPC, and the host's disk holds at most the file's length.
 */
export interface Disk {
  readonly image: string;
  /**
   * A link to the loop device of the image, in the run folder. The sandbox reads this name in its mount table; the
   * state folder's path would show whose machine it is.
   */
  readonly device: string;
}

export function diskOf({ folder, runFolder }: Room): Disk {
  return { image: join(folder, 'disk.img'), device: join(runFolder, 'disk') };
}

/** Applies on this host and in every mount of the same device: no setuid programs, no devices. */
export const mountOptions = 'nosuid,nodev,noatime,noinit_itable';

const programs = ['mkfs.ext4', 'mount', 'umount', 'cp', 'flock'];
const blockBytes = 4096;
const bytesPerFile = 8192;
const smallJournalMb = 4;
const journalMb = 16;
const smallDiskBytes = 512 * 1024 ** 2;
const capSysAdmin = 21n;
const callDeadlineMs = 30_000;
const lockSeconds = 20;
const mostMounts = 8;

type Tools = Pick<RuntimeOptions, 'stateDir' | 'path' | 'uid' | 'platform'>;

/** Why this host cannot give a workspace its own file system; undefined if it can. */
export async function whyNoDisks({ uid, platform, path }: Tools): Promise<string | undefined> {
  if (platform !== 'linux') return 'that needs Linux';
  if (uid !== 0) return 'mounting needs root';
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '');
  const capabilities = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`);
  const users = await readFile('/proc/self/uid_map', 'utf8').catch(() => '');
  const isRealRoot = /^\s*0\s+0\s+4294967295\s*$/.test(users);
  if (((capabilities >> capSysAdmin) & 1n) === 0n || !isRealRoot) return 'this process may not mount';
  const folders = path.split(delimiter);
  for (const program of programs) {
    const found = await Promise.all(folders.map((folder) => isThere(join(folder, program), constants.X_OK)));
    if (!found.includes(true)) return `${program} is not installed`;
  }
  if (!(await isThere('/dev/loop-control', constants.W_OK))) return 'there are no loop devices';
  const systems = await readFile('/proc/filesystems', 'utf8').catch(() => '');
  return /\text4$/m.test(systems) ? undefined : 'the kernel has no ext4';
}

/** Creates the disk of a room without one, all or nothing, and mounts it as its workspace. */
export async function makeDisk(room: Room, bytes: number, tools: Tools): Promise<void> {
  const { image } = diskOf(room);
  const template = await templateOf(bytes, tools);
  await run(tools, 'made', 'cp', ['--sparse=always', '--reflink=auto', template, `${image}.new`]);
  await mkdir(room.workspace, { recursive: true, mode: 0o700 });
  await rename(`${image}.new`, image);
  await mountDisk(room, tools);
}

export async function hasDisk(room: Room): Promise<boolean> {
  return (await lstat(diskOf(room).image).catch(absent)) !== undefined;
}

/** Mounts the disk of a room as its workspace, if it has one. Idempotent. */
export async function mountDisk(room: Room, tools: Tools): Promise<void> {
  const { image, device } = diskOf(room);
  if (!(await hasDisk(room))) return;
  if (!(await isMounted(room))) {
    // A device that already holds the image is used again: two devices would overwrite each other's blocks.
    await alone(room, tools, 'mounted', [
      ...['mount', '-t', 'ext4', '-o', `loop,${mountOptions}`, image, room.workspace],
    ]);
  }
  await rm(`${device}.new`, { force: true });
  const isLinked = symlink(join('/dev', await deviceName(room)), `${device}.new`).then(() => true);
  // A halted room has no run folder and nothing that mounts the device.
  if (await isLinked.catch(absent)) await rename(`${device}.new`, device);
}

/** The kernel releases the loop device with its last mount. Idempotent. */
export async function unmountDisk(room: Room, tools: Tools): Promise<void> {
  if (!(await hasDisk(room)) && !(await isMounted(room))) return;
  // A killed host may have left a mount in progress.
  if (!(await isMounted(room))) await alone(room, tools, 'unmounted', ['true']);
  for (let left = mostMounts; left > 0 && (await isMounted(room)); left -= 1) {
    await alone(room, tools, 'unmounted', ['umount', room.workspace]).catch(async (error) => {
      if (!(await isMounted(room))) return;
      // A reader still uses it: detach it lazily, so that no new reader finds it.
      const lazily = alone(room, tools, 'unmounted', ['umount', '--lazy', room.workspace]);
      await lazily.catch(() => Promise.reject(error));
    });
  }
}

/**
 * One change at a time, including those of processes that survived their host: two devices on one file would destroy
 * it.
 */
function alone({ folder }: Room, tools: Tools, done: string, command: readonly string[]): Promise<void> {
  return run(tools, done, 'flock', ['--timeout', String(lockSeconds), folder, ...command]);
}

export async function isMounted({ workspace, folder }: Room): Promise<boolean> {
  const [inside, outside] = await Promise.all([workspace, folder].map((path) => lstat(path).catch(absent)));
  return inside !== undefined && outside !== undefined && inside.dev !== outside.dev;
}

/** Refuses a sandbox whose workdir is not the file system with the limit. */
export async function checkDevice({ workspace }: Room, seen: number | undefined): Promise<void> {
  if ((await lstat(workspace)).dev === seen) return;
  throw new GeodeError(
    'cannot_enforce',
    'limits.diskBytes has no effect: the sandbox does not see the file system that was mounted for it.',
    { hint: 'Run the engine and Geode on the same machine, or set the disk limit to null.' },
  );
}

/** Formatted once for each size: copying the few used blocks takes a fraction of the time. */
async function templateOf(bytes: number, tools: Tools): Promise<string> {
  const folder = join(tools.stateDir, 'disks');
  const length = Math.floor(bytes / blockBytes) * blockBytes;
  const template = join(folder, `ext4-1-${length}.img`);
  if (await isThere(template, constants.R_OK)) return template;
  await ownFolder(folder);
  const draft = join(folder, `${randomBytes(8).toString('hex')}.new`);
  try {
    const file = await open(draft, 'wx', 0o600);
    await file.truncate(length).finally(() => file.close());
    await run(tools, 'formatted', 'mkfs.ext4', [...formatOptions(length), draft]);
    await rename(draft, template);
  } finally {
    await rm(draft, { force: true });
  }
  return template;
}

/**
 * With a journal, because a workspace must survive power cuts. Nothing is reserved for root, and blocks that are zero
 * in a sparse file anyway are not written. Twice the usual number of inodes, because workspaces contain many small
 * files.
 */
function formatOptions(length: number): readonly string[] {
  const journal = length < smallDiskBytes ? smallJournalMb : journalMb;
  return [
    ...['-q', '-F', '-b', String(blockBytes), '-m', '0', '-i', String(bytesPerFile), '-e', 'remount-ro'],
    ...['-J', `size=${journal}`, '-O', '^resize_inode'],
    ...['-E', 'lazy_itable_init=1,lazy_journal_init=1,nodiscard'],
  ];
}

/** "loop3". Its number is the device's minor only while loop devices have no partitions. */
async function deviceName({ workspace }: Room): Promise<string> {
  const { dev } = await lstat(workspace);
  const major = (dev >> 8) & 0xfff;
  const minor = (dev & 0xff) | ((dev >> 12) & 0xfff00);
  return basename(await readlink(`/sys/dev/block/${major}:${minor}`));
}

async function run({ path }: Tools, done: string, program: string, args: readonly string[]): Promise<void> {
  const options = { env: { PATH: path, LC_ALL: 'C' }, timeout: callDeadlineMs };
  await promisify(execFile)(program, args, options).catch((cause: { stderr?: string }) => {
    const words = cause.stderr?.trim() || reasonOf(cause);
    throw new GeodeError('cannot_enforce', `The disk of the sandbox could not be ${done}: ${words}`, {
      hint: 'Set the disk limit to null, or fix the cause in the message.',
      cause,
    });
  });
}

function isThere(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}
