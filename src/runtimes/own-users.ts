import { createHash } from 'node:crypto';
import { readdir, readFile, readlink, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { GeodeError } from '../base/errors.ts';
import { absent } from './absent.ts';
import type { SandboxUser } from './accounts.ts';
import type { RuntimeOptions } from './options.ts';
import type { Plan } from './plan.ts';
import { ownFolder, type Room, type RoomPlaces } from './rooms.ts';

/** User and group ids that nobody else on the machine has. */
export interface UidRange {
  readonly first: number;
  readonly count: number;
}

type StatePlace = Pick<RoomPlaces, 'stateDir'>;

/** Assigns a user id to a claimed room; removing the room returns it. */
export async function withOwnUser({ stateDir, uids }: RuntimeOptions, room: Room, plan: Plan): Promise<Plan> {
  const canTake = plan.canHaveOwnUser === true && uids !== undefined && (await hasUsers(uids));
  return withUser(plan, canTake ? await takeUser({ stateDir }, room, uids) : undefined);
}

/** With a user of its own, or the shared one. */
export function withUser(plan: Plan, user: SandboxUser | undefined): Plan {
  if (user === undefined) return { ...plan, canHaveOwnUser: false };
  return { ...plan, canHaveOwnUser: true, user, workspaceOwner: user };
}

/**
 * Gives each room its own user. The kernel counts inotify instances, pending signals, message queues and more by
 * user, so sandboxes with a shared user can starve each other. Each used number is a link `<state_dir>/uids/<uid>` to
 * the id of its room: if two processes create the same one, the second fails.
 */
export async function takeUser(
  places: StatePlace,
  { id }: Pick<Room, 'id'>,
  { first, count }: UidRange,
): Promise<SandboxUser> {
  const folder = folderOf(places);
  await ownFolder(folder);
  // Chosen from a hash of the id, so that two state folders with the same range rarely collide.
  const start = createHash('sha256').update(id).digest().readUInt32BE(0) % count;
  for (let step = 0; step < count; step += 1) {
    const uid = first + ((start + step) % count);
    if (await isOursNow(join(folder, String(uid)), id)) return { uid, gid: uid };
  }
  throw new GeodeError('too_many_sandboxes', `All ${count} users from ${first} on are in use.`, {
    hint: 'Remove sandboxes, or raise sandbox.uids.',
  });
}

async function isOursNow(path: string, id: string): Promise<boolean> {
  try {
    await symlink(id, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return (await readlink(path).catch(absent)) === id;
  }
}

/** Called when nothing of the room runs any more. `user` is left out if no record names it. */
export async function giveBackUser(
  places: StatePlace,
  { id }: Pick<Room, 'id'>,
  user: SandboxUser | undefined,
): Promise<void> {
  const folder = folderOf(places);
  const names = user === undefined ? ((await readdir(folder).catch(absent)) ?? []) : [String(user.uid)];
  for (const name of names) {
    const path = join(folder, name);
    if ((await readlink(path).catch(absent)) === id) await rm(path, { force: true });
  }
}

const folderOf = ({ stateDir }: StatePlace) => join(stateDir, 'uids');

/** In a user namespace the kernel only knows the mapped ids. */
export async function hasUsers({ first, count }: UidRange): Promise<boolean> {
  const lines = (await readFile('/proc/self/uid_map', 'utf8').catch(() => '')).trim().split('\n');
  return lines.some((line) => {
    const [inside = 0, , length = 0] = line.trim().split(/\s+/).map(Number);
    return inside <= first && first + count <= inside + length;
  });
}
