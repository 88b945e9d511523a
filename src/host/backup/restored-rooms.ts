/** Makes the sandboxes of a backup ready to start in another state folder. */
import { mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Cancel } from '../../base/cancel.ts';
import { GeodeError } from '../../base/errors.ts';
import type { Machine } from '../../machine/machine.ts';
import { type Room, readRecord, roomOf, saveRecord } from '../../runtimes/rooms.ts';
import { Workspaces } from '../../runtimes/workspaces.ts';
import { snapshotsOf } from '../../sandboxes/snapshots/snapshots-of.ts';
import type { BackedUpSandbox, BackupManifest } from './manifest.ts';
import { damaged } from './sealed-stream.ts';

const guestDir = fileURLToPath(new URL('../../../guest/dist', import.meta.url));

export type WorkspaceOptions = ConstructorParameters<typeof Workspaces>[0];

export interface RestoredRoom {
  readonly id: string;
  readonly user: string;
  readonly chat: string;
  /** Entries of its workspace; null where the backup has none. */
  readonly entries: number | null;
}

/** `options.stateDir` is the folder under construction, `target` its later path. */
export async function restoreRooms(
  { sandboxes }: BackupManifest,
  options: WorkspaceOptions,
  { target, signal }: { readonly target: string } & Cancel,
): Promise<readonly RestoredRoom[]> {
  const workspaces = new Workspaces(options);
  const restored: RestoredRoom[] = [];
  for (const sandbox of sandboxes) {
    const room = roomOf(options, sandbox.id);
    const { runFolder } = roomOf({ ...options, stateDir: target }, sandbox.id);
    const record = await readRecord(room);
    if (record === undefined) throw damaged(`sandbox ${sandbox.user}/${sandbox.chat} has no record`);
    // Nothing of it runs here: no handle leads to the processes of the machine it comes from.
    const { formerSecret: _, ...fresh } = record;
    await saveRecord(room, { ...fresh, handle: '', runFolder, entered: true, hibernated: false });
    if (record.user !== undefined) await reserveUser(options.stateDir, record.user.uid, room);
    const entries = await restoreFiles(sandbox, room, workspaces, record.limits, { ...options, signal });
    restored.push({ id: sandbox.id, user: sandbox.user, chat: sandbox.chat, entries });
  }
  return restored;
}

/** Unmounts the workspaces of a state folder that will be removed. */
export async function dropRooms(options: WorkspaceOptions): Promise<void> {
  const workspaces = new Workspaces(options);
  for (const id of await readdir(join(options.stateDir, 'sandboxes')).catch(() => []))
    await workspaces.drop(roomOf(options, id));
}

/** Where the programs for workspaces are, and what this machine is. */
export function workspaceOptions(machine: Machine, stateDir: string, runDir: string): WorkspaceOptions {
  const { uid, platform, arch, path } = machine;
  return { stateDir, runDir, guestDir, uid, platform, arch, path };
}

async function restoreFiles(
  { files, user, chat }: BackedUpSandbox,
  room: Room,
  workspaces: Workspaces,
  limits: Parameters<Workspaces['prepare']>[1],
  { uid, signal }: Pick<WorkspaceOptions, 'uid'> & Cancel,
): Promise<number | null> {
  if (files === null) {
    await mkdir(room.workspace, { recursive: true, mode: 0o700 });
    return null;
  }
  const { snapshot, owner, count, unkept } = files;
  if (uid !== 0 && owner.uid !== uid) {
    throw new GeodeError(
      'cannot_enforce',
      `The files of sandbox ${user}/${chat} belong to user ${owner.uid}, and only root can restore them.`,
      { hint: 'Restore as root, or as the user that made the backup.' },
    );
  }
  await workspaces.prepare(room, limits, owner);
  try {
    await using place = await workspaces.hold(room);
    const snapshots = snapshotsOf(place);
    const { left } = await snapshots.restore(snapshot, { signal });
    if (left > unkept) throw damaged(`${left} files of sandbox ${user}/${chat} are missing`);
    await snapshots.remove(snapshot, { signal });
  } finally {
    await workspaces.hide(room);
  }
  return count;
}

async function reserveUser(stateDir: string, uid: number, { id }: Room): Promise<void> {
  const folder = join(stateDir, 'uids');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await symlink(id, join(folder, String(uid))).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
    throw damaged(`two sandboxes have the user ${uid}`);
  });
}
