import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { GeodeError } from '../../base/errors.ts';
import { absent } from '../absent.ts';
import type { WallsFreezer } from '../freezer.ts';
import type { cgroupOf } from './cgroups.ts';

const lookEveryMs = 2;

/** The files and values for freezing in both cgroup versions, and for reading the state. */
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

type SandboxCgroup = Awaited<ReturnType<typeof cgroupOf>>;

/** Undefined if the sandbox's group cannot be frozen. */
export async function wallsFreezerOf(cgroup: SandboxCgroup): Promise<WallsFreezer | undefined> {
  const group = freezerOf(cgroup);
  if (group === undefined || (await isFrozenGroup(group)) === undefined) return undefined;
  return { pause: (signal) => turn(group, true, signal), resume: (signal) => turn(group, false, signal) };
}

async function turn(group: Group, paused: boolean, signal: AbortSignal): Promise<void> {
  const wanted = paused ? group.paused : group.running;
  await writeFile(join(group.folder, group.file), wanted).catch(absent);
  for (;;) {
    const frozen = await isFrozenGroup(group);
    if (frozen === paused || (frozen === undefined && !paused)) return;
    if (frozen === undefined) {
      throw new GeodeError('sandbox_gone', 'The sandbox has ended: its control group is gone.');
    }
    // The kernel stops one task after another.
    await delay(lookEveryMs, undefined, { signal });
  }
}

export async function isFrozen(cgroup: SandboxCgroup): Promise<boolean> {
  const group = freezerOf(cgroup);
  return group !== undefined && (await isFrozenGroup(group)) === true;
}

type Group = (typeof versions)[1 | 2] & { readonly folder: string };

function freezerOf(cgroup: SandboxCgroup): Group | undefined {
  return cgroup?.freezer === undefined ? undefined : { ...versions[cgroup.version], folder: cgroup.freezer };
}

/** Undefined if the group is gone. */
async function isFrozenGroup({ folder, truth, frozen }: Group): Promise<boolean | undefined> {
  const state = await readFile(join(folder, truth), 'utf8').catch(absent);
  return state === undefined ? undefined : frozen.test(state);
}
