/** The control group of one sandbox: its limits, and the folder for freezing it. */

import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { parsedJson } from '../../base/json.ts';
import type { Limits } from '../../seams/limits.ts';
import { absent } from '../absent.ts';
import { homeOf } from '../home.ts';
import type { RuntimeOptions } from '../options.ts';
import type { Room } from '../rooms.ts';
import { type CgroupHome, type Controller, limiting, takeControllers } from './cgroup-home.ts';

const periodUs = 100_000;
const removeDeadlineMs = 5_000;

const sandboxCgroup = z.object({
  version: z.union([z.literal(1), z.literal(2)]),
  /** One in version 2, one for each controller in version 1. A process joins by writing itself into `cgroup.procs`. */
  folders: z.array(z.string()),
  /** The folder that counts memory kills; the guest reads it. */
  counters: z.string().optional(),
  /** The folder for freezing its processes. */
  freezer: z.string().optional(),
});
type SandboxCgroup = z.infer<typeof sandboxCgroup>;

/** The sandbox's group below its installation's. */
function groupOf(options: Pick<RuntimeOptions, 'stateDir'>, id: string): string {
  return join(`geode-${homeOf(options)}`, id);
}

function cgroupIn({ version, folders }: CgroupHome, group: string): SandboxCgroup {
  const at = (name: Controller | 'freezer') => folders[name] && join(folders[name], group);
  const all = [...limiting.map(at), at('freezer')].filter((folder) => folder !== undefined);
  const counters = version === 2 ? all[0] : at('memory');
  const freezer = at('freezer');
  return {
    version,
    folders: [...new Set(all)],
    ...(counters !== undefined && { counters }),
    ...(freezer !== undefined && { freezer }),
  };
}

/**
 * Creates the group with its limits, and records its path next to the room's socket, because the next host may be in
 * another group.
 */
export async function makeCgroup(
  home: CgroupHome,
  options: Pick<RuntimeOptions, 'stateDir'>,
  room: Room,
  limits: Limits,
): Promise<SandboxCgroup> {
  const group = groupOf(options, room.id);
  const made = cgroupIn(home, group);
  await writeFile(noteOf(room), JSON.stringify(made), { mode: 0o600 });
  if (home.version === 2) {
    for (const folder of made.folders) {
      await mkdir(dirname(folder), { recursive: true });
      await takeControllers(dirname(folder), limiting);
    }
  }
  for (const folder of made.folders) await makeFolder(folder);
  for (const [path, value] of settings(home, group, limits)) await writeFile(path, value);
  return made;
}

const noteOf = ({ runFolder }: Pick<Room, 'runFolder'>) => join(runFolder, 'cgroup.json');

/** The group of the room's processes: the recorded one, or where this host would create it. */
export async function cgroupOf(
  home: CgroupHome | undefined,
  options: Pick<RuntimeOptions, 'stateDir'>,
  room: Room,
): Promise<SandboxCgroup | undefined> {
  const note = await readFile(noteOf(room), 'utf8').catch(absent);
  if (note !== undefined) {
    const parsed = sandboxCgroup.safeParse(parsedJson(note));
    if (parsed.success) return parsed.data;
  }
  return home && cgroupIn(home, groupOf(options, room.id));
}

/** A killed host may have left it half-made. */
/** The parent is removed with its last group, perhaps at this moment. */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true }).catch(() => mkdir(folder, { recursive: true }));
}

function settings(
  { version, folders }: CgroupHome,
  group: string,
  { memoryBytes, cpus, pids }: Limits,
): readonly [string, string][] {
  const list: [string, string][] = [];
  const set = (controller: Controller, file: string, value: string) => {
    const folder = folders[controller];
    if (folder !== undefined) list.push([join(folder, group, file), value]);
  };
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

/** Whether the kernel ended a process of the group because of its memory limit. */
export async function hasKilledForMemory({ counters }: SandboxCgroup): Promise<boolean> {
  if (counters === undefined) return false;
  const files = ['memory.events', 'memory.oom_control'].map((name) => join(counters, name));
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')));
  return texts.some((text) => /^oom_kill [1-9]/m.test(text));
}

/** Kills everything still in the group. The kernel needs a moment to release the group. */
export async function removeCgroup({ folders }: SandboxCgroup): Promise<void> {
  for (const folder of folders) {
    const until = performance.now() + removeDeadlineMs;
    while (!(await gone(folder)) && performance.now() < until) {
      await killAll(folder);
      await delay(10);
    }
    // The last sandbox removes the installation's folder too.
    await rmdir(dirname(folder)).catch(() => {});
  }
}

async function killAll(folder: string): Promise<void> {
  const pids = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '');
  for (const pid of pids.split('\n').filter(Boolean)) {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It exited before the signal.
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

/** The ids of this installation's sandboxes that have a group, to find leftovers. */
export async function cgroupIds(
  home: CgroupHome,
  options: Pick<RuntimeOptions, 'stateDir'>,
): Promise<readonly string[]> {
  const { folders } = cgroupIn(home, groupOf(options, ''));
  const entries = await Promise.all(
    folders.map(async (folder) => (await readdir(folder, { withFileTypes: true }).catch(absent)) ?? []),
  );
  const groups = entries.flat().filter((entry) => entry.isDirectory());
  return [...new Set(groups.map((entry) => entry.name))];
}
