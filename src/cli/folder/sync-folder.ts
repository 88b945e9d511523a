/**
 * Makes a folder of this machine and the workspace of a sandbox equal. The sandbox has a copy: an agent never touches
 * the folder itself, and what it changed comes back file by file, after a look at where it would go.
 */
import { randomBytes } from 'node:crypto';
import { chmod, lstat, mkdir, rename, rm, rmdir, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { RemoteSandbox } from '../../client/sandbox.ts';
import type { Cancel } from '../../core/cancel.ts';
import { isGeodeError, reasonOf } from '../../core/errors.ts';
import type { Change } from '../../core/snapshots.ts';
import { packFolder } from '../../link/archive.ts';
import { type FolderRecord, readRecord, writeRecord } from './folder-record.ts';
import {
  besideEnding,
  isInnerLink,
  isInside,
  isKept,
  linkTarget,
  markOf,
  readTree,
  type Tree,
} from './local-tree.ts';

type Place = Pick<RemoteSandbox, 'files' | 'snapshots'>;

export interface SharedFolder {
  readonly folder: string;
  /** Of the sandbox: another one begins with a copy of the folder. */
  readonly sandboxId: string;
  readonly recordFile: string;
  readonly umask: number;
}

export interface Synced {
  /** What came out of the sandbox. */
  readonly brought: readonly { readonly path: string; readonly how: 'written' | 'removed' | 'beside' }[];
  /** What stayed in the sandbox, and why. */
  readonly left: readonly { readonly path: string; readonly why: string }[];
  /** How many files went in. */
  readonly sent: number;
}

/** First what the agent changed comes out, then what changed here goes in. Interrupted, it is completed by the next. */
export async function syncFolder(place: Place, shared: SharedFolder, cancel: Cancel = {}): Promise<Synced> {
  const { folder, sandboxId: sandbox, recordFile } = shared;
  const { snapshots } = place;
  const before = await readRecord(recordFile, { folder, sandbox });
  const met = await takeSnapshot(snapshots, cancel);
  const out = before === undefined ? nothing : await bringOut(place, shared, before, met, cancel);
  const files = await sharedTree(folder);
  const sent = await sendIn(place, folder, before?.files, files, cancel);
  const snapshot = sent.size === 0 ? met : await takeSnapshot(snapshots, cancel);
  const between = sent.size === 0 ? [] : await changesBetween(snapshots, met, snapshot, cancel);
  const missed = between.filter(({ path }) => !sent.has(path));
  await writeRecord(recordFile, { folder, sandbox, snapshot, missed, files });
  for (const old of [before?.snapshot, met])
    if (old !== undefined && old !== snapshot) await snapshots.remove(old, cancel);
  return { ...out, sent: sent.size };
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

const nothing = { brought: [], left: [] } as const;

async function bringOut(
  place: Place,
  shared: SharedFolder,
  before: FolderRecord,
  to: string,
  cancel: Cancel,
): Promise<Pick<Synced, 'brought' | 'left'>> {
  const brought: Synced['brought'][number][] = [];
  const left: Synced['left'][number][] = [];
  const since = await changesBetween(place.snapshots, before.snapshot, to, cancel);
  const changes = [...new Map([...before.missed, ...since].map((each) => [each.path, each])).values()];
  // What is gone first, and the deepest of it: a folder may have come to stand where a file was, or the other way.
  const gone = changes.filter(({ after }) => after === undefined || after.type === 'directory').toReversed();
  for (const { path } of gone) {
    if (before.files.get(path) === undefined || !(await isInside(shared.folder, path))) continue;
    if ((await markOf(join(shared.folder, path))) !== before.files.get(path)) continue;
    await rm(join(shared.folder, path));
    await removeEmpty(shared.folder, dirname(path));
    brought.push({ path, how: 'removed' });
  }
  for (const change of changes) {
    const { path, after } = change;
    if (after === undefined || after.type === 'directory') continue;
    const how = await bringOne(place, shared, before, change, cancel);
    if (how === 'written' || how === 'beside') brought.push({ path, how });
    else if (how !== 'same') left.push({ path, why: how.why });
  }
  return { brought, left };
}

const outerLink = 'it is a link that leads out of the folder';
/** Of one file, which does not keep the others from coming out. */
const refusals = ['too_large', 'not_a_file', 'file_refused'] as const;

type Brought = 'written' | 'beside' | 'same' | { readonly why: string };

async function bringOne(
  { files }: Place,
  { folder, umask }: SharedFolder,
  before: FolderRecord,
  { path, pathBase64, after }: Change,
  cancel: Cancel,
): Promise<Brought> {
  if (pathBase64 !== undefined) return { why: 'its name is not UTF-8' };
  if (!(await isInside(folder, path))) return { why: 'a link or a file is in its way' };
  const local = join(folder, path);
  const partial = join(folder, `.geode-${randomBytes(6).toString('hex')}.partial`);
  try {
    if (after?.type === 'symlink') {
      const { target } = await files.stat(path, { follow: false, ...cancel });
      if (target === null || !isInnerLink(path, target)) return { why: outerLink };
      await symlink(target, partial);
    } else if (after?.type === 'file') {
      const mode = after.mode & 0o777 & ~umask;
      await files.save(path, partial, { mode, ...cancel });
      await chmod(partial, mode);
    } else return { why: 'it is neither a file nor a link' };
    const [theirs, ours, was] = [await markOf(partial), await markOf(local), before.files.get(path)];
    if (theirs === ours) return await alike(local, partial);
    if (theirs === was) return 'same';
    if ((await lstat(local).catch(() => undefined))?.isDirectory())
      return { why: 'a folder is in its place' };
    await mkdir(dirname(local), { recursive: true });
    const isChanged = ours !== undefined && ours !== was;
    await rename(partial, isChanged ? `${local}${besideEnding}` : local);
    return isChanged ? 'beside' : 'written';
  } catch (error) {
    // The agent goes on: what it has taken away since is gone the next time.
    if (isGeodeError(error, 'file_not_found')) return 'same';
    if (isGeodeError(error, 'invalid_path')) return { why: outerLink };
    if (refusals.some((code) => isGeodeError(error, code))) return { why: reasonOf(error) };
    throw error;
  } finally {
    await rm(partial, { force: true });
  }
}

/** The same content, perhaps with another mode. */
async function alike(local: string, partial: string): Promise<Brought> {
  const [ours, theirs] = [await lstat(local), await lstat(partial)];
  if (!ours.isFile() || ours.mode === theirs.mode) return 'same';
  await chmod(local, theirs.mode & 0o777);
  return 'written';
}

async function removeEmpty(folder: string, path: string): Promise<void> {
  for (let above = path; above !== '.'; above = dirname(above)) {
    try {
      await rmdir(join(folder, above));
    } catch {
      return;
    }
  }
}

/** What changed here since; everything, `.git` too, where nothing was there before. Gives the paths of the files. */
async function sendIn(
  { files }: Place,
  folder: string,
  was: Tree | undefined,
  now: Tree,
  cancel: Cancel,
): Promise<ReadonlySet<string>> {
  const changed = [...now.keys()].filter(
    (path) => !isOuterLink(now, path) && was?.get(path) !== now.get(path),
  );
  const gone = [...(was?.keys() ?? [])].filter((path) => !now.has(path));
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

function foldersAbove(path: string): readonly string[] {
  const above = dirname(path);
  return above === '.' ? [] : [above, ...foldersAbove(above)];
}
