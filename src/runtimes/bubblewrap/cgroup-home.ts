/** Where this process may create control groups: anywhere as root, else below the group that was delegated to it. */
import { execFile } from 'node:child_process';
import { access, constants, mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { absent } from '../absent.ts';

export const limiting = ['memory', 'cpu', 'pids'] as const;
export type Controller = (typeof limiting)[number];

export interface CgroupHome {
  readonly version: 1 | 2;
  /** The parent folder of new groups for each available controller; the same for all in version 2. */
  readonly folders: Readonly<Partial<Record<Controller | 'freezer', string>>>;
}

/** The files to read; a test can pass its own tree. */
export interface CgroupView {
  readonly root: string;
  /** The text of `/proc/self/cgroup`. */
  readonly membership: () => Promise<string>;
  /** Whether systemd leaves groups below a unit of this user's session alone. */
  readonly isDelegated: (unit: string) => Promise<boolean>;
}

const thisMachine: CgroupView = {
  root: '/sys/fs/cgroup',
  membership: () => readFile('/proc/self/cgroup', 'utf8'),
  isDelegated: askSystemd,
};

/**
 * The child of a delegated group that contains the host, because a group with its own processes cannot limit
 * children.
 */
const hostGroup = 'geode-host';
const mostMoves = 20;
const askDeadlineMs = 2_000;

/** Undefined without any controller: then the guest counts. */
export async function findCgroups(view: CgroupView = thisMachine): Promise<CgroupHome | undefined> {
  const isVersion2 = await isWritable(join(view.root, 'cgroup.controllers'), constants.R_OK);
  const home = isVersion2 ? await findVersion2(view) : await findVersion1(view);
  return home !== undefined && limiting.some((name) => home.folders[name] !== undefined) ? home : undefined;
}

async function findVersion2(view: CgroupView): Promise<CgroupHome | undefined> {
  const isRoot = await isWritable(join(view.root, 'cgroup.subtree_control'));
  const base = isRoot ? view.root : await delegatedFolder(view);
  if (base === undefined) return undefined;
  const enabled = await takeControllers(base, limiting).catch(() => []);
  const folders = Object.fromEntries(enabled.map((name) => [name, base]));
  return { version: 2, folders: { ...folders, freezer: base } };
}

/** The group of this process that its user may divide, if any. */
export async function delegatedFolder({
  root,
  membership,
  isDelegated,
}: CgroupView): Promise<string | undefined> {
  const own = /^0::(\/.*)$/m.exec(await membership().catch(() => ''))?.[1];
  if (own === undefined || own.startsWith('/..')) return undefined;
  const names = own.split('/').filter(Boolean);
  const unit = names.findLastIndex((name) => /\.(service|scope)$/.test(name));
  const isInside = unit === -1 && basename(own) === hostGroup;
  const base = join(root, ...names.slice(0, unit === -1 ? names.length - (isInside ? 1 : 0) : unit + 1));
  const files = ['cgroup.procs', 'cgroup.subtree_control'].map((name) => isWritable(join(base, name)));
  if (!(await Promise.all([isWritable(base), ...files])).every(Boolean)) return undefined;
  // All groups of a user's session belong to the user. Limits persist only in those that systemd was asked to leave
  // alone.
  const isOfSession = names.slice(0, unit).some((name) => /^user@\d+\.service$/.test(name));
  return !isOfSession || (await isDelegated(names[unit] ?? '')) ? base : undefined;
}

async function askSystemd(unit: string): Promise<boolean> {
  const env = {
    PATH: '/usr/bin:/bin',
    XDG_RUNTIME_DIR: join('/run/user', String(process.getuid?.() ?? 0)),
  };
  const args = ['--user', 'show', '--property=Delegate', '--value', unit];
  return promisify(execFile)('systemctl', args, { env, timeout: askDeadlineMs }).then(
    ({ stdout }) => stdout.trim() === 'yes',
    () => false,
  );
}

/**
 * Enables controllers for groups below the folder and returns those available. If the kernel requires it, the
 * processes in the folder itself, including this host, move into a child first.
 */
export async function takeControllers<Name extends string>(
  folder: string,
  names: readonly Name[],
): Promise<readonly Name[]> {
  const offered = await wordsIn(join(folder, 'cgroup.controllers'));
  const control = join(folder, 'cgroup.subtree_control');
  const enabled = await wordsIn(control);
  const missing = names.filter((name) => offered.includes(name) && !enabled.includes(name));
  for (let left = mostMoves; missing.length > 0; left -= 1) {
    try {
      await writeFile(control, missing.map((name) => `+${name}`).join(' '));
      break;
    } catch (error) {
      if (left === 0 || (error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
      await moveProcesses(folder);
    }
  }
  const now = await wordsIn(control);
  return names.filter((name) => now.includes(name));
}

async function moveProcesses(folder: string): Promise<void> {
  const child = join(folder, hostGroup);
  await mkdir(child, { recursive: true });
  for (const pid of await wordsIn(join(folder, 'cgroup.procs'))) {
    // A process that has just exited cannot be moved and need not be.
    await writeFile(join(child, 'cgroup.procs'), pid).catch(() => {});
  }
}

/** In version 1 each controller has its own tree. Root may write at its top, others in the group delegated to them. */
async function findVersion1({ root, membership }: CgroupView): Promise<CgroupHome> {
  const lines = (await membership().catch(() => '')).split('\n');
  const ownIn = (name: string) =>
    lines.flatMap((line) => {
      const [, controllers = '', path = ''] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
      return controllers.split(',').includes(name) && !path.startsWith('/..') ? [path] : [];
    })[0];
  const found = await Promise.all(
    [...limiting, 'freezer'].map(async (name) => {
      const own = ownIn(name);
      const places = [join(root, name), ...(own === undefined ? [] : [join(root, name, own)])];
      for (const place of places) {
        const canJoin = await isWritable(join(place, 'cgroup.procs'));
        if (canJoin && (await isWritable(place))) return [[name, withoutHost(place)]];
      }
      return [];
    }),
  );
  return { version: 1, folders: Object.fromEntries(found.flat()) };
}

function withoutHost(folder: string): string {
  return basename(folder) === hostGroup ? dirname(folder) : folder;
}

async function wordsIn(path: string): Promise<readonly string[]> {
  return ((await readFile(path, 'utf8').catch(absent)) ?? '').split(/\s+/).filter(Boolean);
}

function isWritable(path: string, mode = constants.W_OK): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}
