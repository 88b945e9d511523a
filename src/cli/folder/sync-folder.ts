/**
 * Makes a folder of this machine and the workspace of a sandbox equal. The sandbox has a copy: an agent never touches
 * the folder itself, and what it changed comes back file by file, after a look at where it would go.
 */
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { packFolder } from '../../base/archive.ts';
import type { Cancel } from '../../base/cancel.ts';
import { GeodeError, isGeodeError, reasonOf } from '../../base/errors.ts';
import type { RemoteSandbox } from '../../client/sandbox.ts';
import type { Change } from '../../seams/snapshots.ts';
import { applyPlan, type Brought, type Staged } from './apply-plan.ts';
import { type FolderRecord, readFolderRecord, writeRecord } from './folder-record.ts';
import {
  foldersAbove,
  isInnerLink,
  isKept,
  isLinkWithin,
  isStaging,
  linkTarget,
  readTree,
  type Tree,
} from './local-tree.ts';
import { type LeftOut, planChanges } from './plan-changes.ts';

type Place = Pick<RemoteSandbox, 'files' | 'snapshots'>;

export interface SharedFolder {
  readonly folder: string;
  /** The sandbox of the record: another sandbox starts with a full copy of the folder. */
  readonly sandboxId: string;
  readonly recordFile: string;
  readonly umask: number;
}

export interface Synced {
  /** Changes copied out of the sandbox. */
  readonly brought: readonly Brought[];
  /** Changes left in the sandbox, with the reasons. */
  readonly left: readonly LeftOut[];
  /** How many files went in. */
  readonly sent: number;
}

/**
 * First what the agent changed comes out, then what changed here goes in. Interrupted, it is completed by the next.
 * `onOut` has what came out as soon as it is there, also when the way in fails then.
 */
export async function syncFolder(
  place: Place,
  shared: SharedFolder,
  { onOut, ...cancel }: { readonly onOut?: (out: Omit<Synced, 'sent'>) => void } & Cancel = {},
): Promise<Synced> {
  const { folder, sandboxId: sandbox, recordFile } = shared;
  const { snapshots } = place;
  const before = await readFolderRecord(recordFile, { folder, sandbox });
  const met = await takeSnapshot(snapshots, cancel);
  const out = before === undefined ? nothing : await bringOut(place, shared, before, met, cancel);
  const { brought, left } = out;
  onOut?.({ brought, left });
  const files = await sharedTree(folder);
  // Below something of the agent's that stays in the sandbox nothing can be written there.
  const stays = new Set(left.map(({ path }) => path));
  const isBlocked = (path: string) => [path, ...foldersAbove(path)].some((each) => stays.has(each));
  const sent = await sendIn(place, folder, { was: before?.files, now: files, isBlocked }, cancel);
  const snapshot = sent.size === 0 ? met : await takeSnapshot(snapshots, cancel);
  const between = sent.size === 0 ? [] : await changesBetween(snapshots, met, snapshot, cancel);
  const missed = [...out.missed, ...between.filter(({ path }) => !sent.has(path))];
  const same = [...files].filter(([path]) => !isBlocked(path));
  const blocked = [...(before?.files ?? [])].filter(([path]) => isBlocked(path));
  const equal = new Map([...same, ...blocked]);
  await writeRecord(recordFile, { folder, sandbox, snapshot, missed, files: equal });
  for (const old of [before?.snapshot, met])
    if (old !== undefined && old !== snapshot) await snapshots.remove(old, cancel);
  return { brought, left, sent: sent.size };
}

/** Links that lead out of the folder are not shared: they would lead elsewhere in the sandbox. */
async function sharedTree(folder: string): Promise<Tree> {
  const tree = await readTree(folder);
  return new Map([...tree].filter(([path]) => !isOuterLink(tree, path)));
}

async function takeSnapshot(snapshots: Place['snapshots'], cancel: Cancel): Promise<string> {
  const name = `folder-${randomBytes(6).toString('hex')}`;
  await snapshots.take({ name, ...cancel });
  return name;
}

async function changesBetween(
  snapshots: Place['snapshots'],
  from: string,
  to: string,
  cancel: Cancel,
): Promise<readonly Change[]> {
  const changes: Change[] = [];
  for await (const change of snapshots.diff(from, { to, ...cancel }))
    if (!isKept(change.path)) changes.push(change);
  return changes;
}

const nothing: Out = { brought: [], left: [], missed: [] };

interface Out {
  readonly brought: Synced['brought'];
  readonly left: Synced['left'];
  readonly missed: readonly Change[];
}

/** Everything is planned and copied out of the sandbox before the first file of the folder is touched. */
async function bringOut(
  place: Place,
  shared: SharedFolder,
  before: FolderRecord,
  to: string,
  cancel: Cancel,
): Promise<Out> {
  const { folder } = shared;
  await removeLeftovers(folder);
  const since = await changesBetween(place.snapshots, before.snapshot, to, cancel);
  const changes = [...new Map([...before.missed, ...since].map((each) => [each.path, each])).values()];
  const plan = await planChanges(changes, {
    folder,
    was: before.files,
    targetOf: async (path) => (await statOf(place, path, cancel))?.target ?? null,
  });
  if (plan.removals.length === 0 && plan.writes.length === 0) return { brought: [], ...plan };
  const staging = join(folder, `.geode-${randomBytes(6).toString('hex')}.partial`);
  await mkdir(staging, { mode: 0o700 });
  try {
    const { staged, left } = await stage(place, plan.writes, staging, shared, cancel);
    const brought = await applyPlan(folder, staging, { ...plan, staged, was: before.files });
    const again = plan.writes.filter(({ path }) => left.some((each) => each.path === path));
    return { brought, left: [...plan.left, ...left], missed: [...plan.missed, ...again] };
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** Removes the staging folders of commands that were killed: their work is done again. */
async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (isStaging(name)) await rm(join(folder, name), { recursive: true, force: true });
}

/** Undefined if the agent has removed the file since. */
async function statOf({ files }: Place, path: string, cancel: Cancel) {
  try {
    return await files.stat(path, { follow: false, ...cancel });
  } catch (error) {
    if (isGeodeError(error, 'file_not_found') || isGeodeError(error, 'invalid_path')) return undefined;
    throw error;
  }
}

/** Refusals of single files, which do not stop the copy of the others. */
const refusals = ['too_large', 'not_a_file', 'file_refused', 'invalid_path'] as const;

async function stage(
  place: Place,
  writes: readonly Change[],
  staging: string,
  { folder, umask }: SharedFolder,
  cancel: Cancel,
): Promise<{ readonly staged: readonly Staged[]; readonly left: readonly LeftOut[] }> {
  const staged: Staged[] = [];
  const left: LeftOut[] = [];
  for (const { path, after } of writes) {
    const partial = join(staging, String(staged.length));
    try {
      if (after?.type === 'symlink') {
        const target = (await statOf(place, path, cancel))?.target ?? null;
        if (target === null) continue;
        // The agent may go on: it is looked at as it is copied.
        if (!(await isLinkWithin(folder, path, target))) throw leads(target);
        await symlink(target, partial);
      } else {
        const mode = (after?.mode ?? 0) & 0o777 & ~umask;
        await place.files.save(path, partial, { mode, ...cancel });
        await chmod(partial, mode);
      }
      staged.push({ path, partial });
    } catch (error) {
      // The agent goes on: what it has taken away since is gone the next time.
      if (isGeodeError(error, 'file_not_found')) continue;
      if (!refusals.some((code) => isGeodeError(error, code))) throw error;
      left.push({ path, why: `cannot be copied (${reasonOf(error)})` });
    }
  }
  return { staged, left };
}

function leads(target: string): GeodeError {
  return new GeodeError('file_refused', `it is a link to ${target}`);
}

interface Trees {
  /** Undefined before the first copy. */
  readonly was: Tree | undefined;
  readonly now: Tree;
  isBlocked(path: string): boolean;
}

/** Sends local changes; the first time everything, `.git` too. Returns the paths of the files. */
async function sendIn(
  { files }: Place,
  folder: string,
  { was, now, isBlocked }: Trees,
  cancel: Cancel,
): Promise<ReadonlySet<string>> {
  const changed = [...now.keys()].filter(
    (path) => !isOuterLink(now, path) && was?.get(path) !== now.get(path) && !isBlocked(path),
  );
  const gone = [...(was?.keys() ?? [])].filter((path) => !now.has(path) && !isBlocked(path));
  for (const path of gone) await files.remove(path, cancel);
  if (changed.length === 0 && was !== undefined) return new Set(gone);
  const wanted = new Set(changed.flatMap((path) => [path, ...foldersAbove(path)]));
  const isHistory = (path: string) => was === undefined && path.split('/').includes('.git');
  const isWanted = (path: string) => wanted.has(path) || isHistory(path);
  await files.extract('.', packFolder(folder, isWanted), cancel);
  return new Set([...gone, ...changed]);
}

function isOuterLink(tree: Tree, path: string): boolean {
  const target = linkTarget(tree.get(path));
  return target !== undefined && !isInnerLink(path, target);
}
