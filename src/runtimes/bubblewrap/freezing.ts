import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Frost } from '../freezer.ts';
import { freezerFolder } from './cgroups.ts';

const lookEveryMs = 2;

/** What the two versions of control groups are told, and where they say how it is. */
const versions = {
  1: {
    file: 'freezer.state',
    paused: 'FROZEN',
    running: 'THAWED',
    truth: 'freezer.state',
    frozen: /^FROZEN/m,
  },
  2: { file: 'cgroup.freeze', paused: '1', running: '0', truth: 'cgroup.events', frozen: /^frozen 1$/m },
} as const;

/** Undefined where the sandbox's group cannot be frozen. */
export async function frostOf(name: string): Promise<Frost | undefined> {
  const group = await freezerOf(name);
  if (group === undefined || (await isFrozenGroup(group)) === undefined) return undefined;
  const turn = async (paused: boolean, signal: AbortSignal) => {
    await writeFile(join(group.folder, group.file), paused ? group.paused : group.running);
    // The kernel stops one task after the other.
    while ((await isFrozenGroup(group)) !== paused) await delay(lookEveryMs, undefined, { signal });
  };
  return { pause: (signal) => turn(true, signal), resume: (signal) => turn(false, signal) };
}

export async function isFrozen(name: string): Promise<boolean> {
  const group = await freezerOf(name);
  return group !== undefined && (await isFrozenGroup(group)) === true;
}

type Group = (typeof versions)[1 | 2] & { readonly folder: string };

async function freezerOf(name: string): Promise<Group | undefined> {
  const found = await freezerFolder(name);
  return found && { ...versions[found.version], folder: found.folder };
}

async function isFrozenGroup({ folder, truth, frozen }: Group): Promise<boolean | undefined> {
  return readFile(join(folder, truth), 'utf8').then(
    (state) => frozen.test(state),
    () => undefined,
  );
}
