/** Decides, before anything is touched, what of an agent's changes comes into a folder of this machine and what does not. */
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Change } from '../../seams/snapshots.ts';
import { foldersAbove, isInside, isLinkWithin, markOf, type Tree } from './local-tree.ts';

/** Something that is not brought back, and why: both read as one sentence. */
export interface LeftOut {
  readonly path: string;
  readonly why: string;
}

/** Files that go, and files and links that come once they are copied out of the sandbox. */
export interface FolderPlan {
  readonly removals: readonly string[];
  readonly writes: readonly Change[];
  readonly left: readonly LeftOut[];
  /** Changes to look at again the next time. */
  readonly missed: readonly Change[];
}

interface Scene {
  readonly folder: string;
  /** The files as they were when the folder and the sandbox were last equal. */
  readonly was: Tree;
  targetOf(path: string): Promise<string | null>;
}

export async function planChanges(changes: readonly Change[], scene: Scene): Promise<FolderPlan> {
  const { folder, was } = scene;
  const left = new Map<string, string>();
  for (const { path, after } of changes) {
    if (after?.type !== 'symlink') continue;
    const target = await scene.targetOf(path);
    if (target !== null && !(await isLinkWithin(folder, path, target)))
      left.set(path, `is now a link to ${target}`);
  }
  const outerLinks = new Set(left.keys());
  // Keep files below such a link here: they may be the only copies.
  const isKept = ({ path }: Change) => foldersAbove(path).some((above) => outerLinks.has(above));
  const removals: string[] = [];
  // The deepest first: a folder may have come to stand where a file was, or the other way.
  for (const change of changes.toReversed()) {
    const { path, after } = change;
    if ((after !== undefined && after.type !== 'directory') || isKept(change)) continue;
    if (was.get(path) === undefined || !(await isInside(folder, path))) continue;
    if ((await markOf(join(folder, path))) === was.get(path)) removals.push(path);
  }
  const isGoing = new Set(removals);
  const writes: Change[] = [];
  for (const change of changes) {
    const { path, after } = change;
    if (after === undefined || after.type === 'directory' || outerLinks.has(path)) continue;
    const why = await obstacle(change, folder, isGoing);
    if (why === undefined) writes.push(change);
    else left.set(path, why);
  }
  return {
    ...{ removals, writes },
    left: [...left].map(([path, why]) => ({ path, why })),
    missed: changes.filter((change) => outerLinks.has(change.path) || isKept(change)),
  };
}

async function obstacle(
  { path, pathBase64, after }: Change,
  folder: string,
  isGoing: ReadonlySet<string>,
): Promise<string | undefined> {
  if (pathBase64 !== undefined) return 'has a name that is not UTF-8';
  if (after?.type !== 'file' && after?.type !== 'symlink') return 'is neither a file nor a link';
  if (!(await isInside(folder, path, isGoing))) return 'has a link or a file in its way';
  return (await isFree(folder, path, isGoing)) ? undefined : 'has a folder in its place';
}

/** Nothing stays there that a file could not take the place of: a folder is gone with the last of its files. */
async function isFree(folder: string, path: string, isGoing: ReadonlySet<string>): Promise<boolean> {
  const facts = await lstat(join(folder, path)).catch(() => undefined);
  if (!facts?.isDirectory()) return true;
  for (const entry of await readdir(join(folder, path), { withFileTypes: true })) {
    const below = `${path}/${entry.name}`;
    if (entry.isDirectory() ? !(await isFree(folder, below, isGoing)) : !isGoing.has(below)) return false;
  }
  return true;
}
