import { access, constants, mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Limits } from '../../core/limits.ts';
import { absent } from '../absent.ts';
import { homeOf } from '../home.ts';
import type { RuntimeOptions } from '../options.ts';

const root = '/sys/fs/cgroup';
const periodUs = 100_000;
const removeDeadlineMs = 5_000;

export type CgroupVersion = 1 | 2;

/** The sandbox's group below that of its installation. */
export function groupOf(options: RuntimeOptions, id: string): string {
  return join(`geode-${homeOf(options)}`, id);
}

/** Which control groups this process may make, if any. */
export async function cgroupVersion(): Promise<CgroupVersion | undefined> {
  if (await isWritable(join(root, 'cgroup.subtree_control'))) return 2;
  const all = await Promise.all(
    ['memory', 'cpu', 'pids'].map((name) => isWritable(join(root, name, 'cgroup.procs'))),
  );
  return all.every(Boolean) ? 1 : undefined;
}

/** The folders of a sandbox's group: one in version 2, one a controller in version 1. */
export async function cgroupFolders(version: CgroupVersion, group: string): Promise<readonly string[]> {
  if (version === 2) return [join(root, group)];
  const freezer = (await freezerFolder(group))?.folder;
  const limiting = ['memory', 'cpu', 'pids'].map((name) => join(root, name, group));
  return freezer === undefined ? limiting : [...limiting, freezer];
}

/** The folder that a sandbox's processes can be frozen in, whether it is there yet or not. */
export async function freezerFolder(
  group: string,
): Promise<{ readonly version: CgroupVersion; readonly folder: string } | undefined> {
  const version = await cgroupVersion();
  if (version === 2) return { version, folder: join(root, group) };
  const canMake = version === 1 && (await isWritable(join(root, 'freezer', 'cgroup.procs')));
  return canMake ? { version: 1, folder: join(root, 'freezer', group) } : undefined;
}

/** The folder that counts memory kills; the guest reads it. */
export function memoryFolder(version: CgroupVersion, group: string): string {
  return version === 2 ? join(root, group) : join(root, 'memory', group);
}

/** Makes the group with its limits. A process joins by writing itself into `cgroup.procs` of each folder. */
export async function makeCgroup(version: CgroupVersion, group: string, limits: Limits): Promise<void> {
  if (version === 2) {
    await enableControllers(root);
    await mkdir(join(root, dirname(group)), { recursive: true });
    await enableControllers(join(root, dirname(group)));
  }
  for (const folder of await cgroupFolders(version, group)) await makeFolder(folder);
  for (const [path, value] of settings(version, group, limits)) await writeFile(path, value);
}

/** The folder above goes with its last group, which may be at this moment. */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true }).catch(() => mkdir(folder, { recursive: true }));
}

function settings(version: CgroupVersion, group: string, limits: Limits): readonly [string, string][] {
  const { memoryBytes, cpus, pids } = limits;
  const list: [string, string][] = [];
  const set = (controller: string, file: string, value: string) =>
    list.push([version === 2 ? join(root, group, file) : join(root, controller, group, file), value]);
  if (memoryBytes != null) {
    if (version === 2) {
      set('memory', 'memory.max', String(memoryBytes));
      set('memory', 'memory.swap.max', '0');
    } else {
      set('memory', 'memory.limit_in_bytes', String(memoryBytes));
      set('memory', 'memory.swappiness', '0');
    }
  }
  if (cpus != null) {
    const quota = String(Math.max(Math.round(cpus * periodUs), 1_000));
    if (version === 2) set('cpu', 'cpu.max', `${quota} ${periodUs}`);
    else {
      set('cpu', 'cpu.cfs_period_us', String(periodUs));
      set('cpu', 'cpu.cfs_quota_us', quota);
    }
  }
  if (pids != null) set('pids', 'pids.max', String(pids));
  return list;
}

/** Ends whatever is still in the group; the kernel needs a moment until it lets the group go. */
export async function removeCgroup(version: CgroupVersion, group: string): Promise<void> {
  for (const folder of await cgroupFolders(version, group)) {
    const until = performance.now() + removeDeadlineMs;
    while (!(await gone(folder)) && performance.now() < until) {
      await killAll(folder);
      await delay(10);
    }
    // The last one puts the lights out.
    await rmdir(dirname(folder)).catch(() => {});
  }
}

async function killAll(folder: string): Promise<void> {
  const pids = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '');
  for (const pid of pids.split('\n').filter(Boolean)) {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It ended in between.
    }
  }
}

async function gone(folder: string): Promise<boolean> {
  try {
    await rmdir(folder);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

async function enableControllers(folder: string): Promise<void> {
  const path = join(folder, 'cgroup.subtree_control');
  const enabled = (await readFile(path, 'utf8')).split(/\s+/);
  const missing = ['memory', 'cpu', 'pids'].filter((name) => !enabled.includes(name));
  if (missing.length > 0) await writeFile(path, missing.map((name) => `+${name}`).join(' '));
}

async function isWritable(path: string): Promise<boolean> {
  return access(path, constants.W_OK).then(
    () => true,
    () => false,
  );
}

/** The sandboxes of this installation that have a group, for telling leftovers. */
export async function cgroupIds(version: CgroupVersion, options: RuntimeOptions): Promise<readonly string[]> {
  const folders = await cgroupFolders(version, groupOf(options, ''));
  const entries = await Promise.all(
    folders.map(async (folder) => (await readdir(folder, { withFileTypes: true }).catch(absent)) ?? []),
  );
  const groups = entries.flat().filter((entry) => entry.isDirectory());
  return [...new Set(groups.map((entry) => entry.name))];
}
