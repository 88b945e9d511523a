/** Changes files of a folder so that all changes can be undone: old files stay in a staging folder until the end. */
import { lstat, mkdir, rename, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { GeodeError } from '../../base/errors.ts';
import { besideEnding, foldersAbove, isInside, markOf, type Tree } from './local-tree.ts';

export interface Brought {
  readonly path: string;
  readonly how: 'written' | 'removed' | 'beside';
}

/** A file or a link that waits in the staging folder. */
export interface Staged {
  readonly path: string;
  readonly partial: string;
}

interface ReadyPlan {
  readonly removals: readonly string[];
  readonly staged: readonly Staged[];
  /** The files as they were when the folder and the sandbox were last equal. */
  readonly was: Tree;
}

/** Throws the reason of the first step that fails, after everything before it has been undone. */
export async function applyPlan(
  folder: string,
  staging: string,
  plan: ReadyPlan,
): Promise<readonly Brought[]> {
  const work = new UndoableWork(staging);
  try {
    return await changeFiles(folder, plan, work);
  } catch (error) {
    await work.undo();
    throw error;
  }
}

async function changeFiles(
  folder: string,
  { removals, staged, was }: ReadyPlan,
  work: UndoableWork,
): Promise<readonly Brought[]> {
  const brought: Brought[] = [];
  for (const path of removals) {
    // A person may have changed it since the plan was made.
    if ((await markOf(join(folder, path))) !== was.get(path)) continue;
    await work.setAside(join(folder, path));
    brought.push({ path, how: 'removed' });
    for (const above of foldersAbove(path)) if (!(await work.removeEmpty(join(folder, above)))) break;
  }
  for (const { path, partial } of staged) {
    const local = join(folder, path);
    if (!(await isInside(folder, path)))
      throw new GeodeError(
        'file_refused',
        `${path} got a link or a file in its way while files were brought back.`,
        {
          hint: 'Nothing was changed; the next geode claude -C brings the files back.',
        },
      );
    const [theirs, ours] = [await markOf(partial), await markOf(local)];
    if (theirs === ours && !(await isOtherMode(local, partial))) continue;
    // Only the sandbox's copy was touched: what a person changed here stays.
    if (theirs !== ours && theirs === was.get(path)) continue;
    const isChanged = ours !== undefined && ours !== was.get(path) && ours !== theirs;
    const place = isChanged ? local + besideEnding : local;
    for (const above of foldersAbove(path).toReversed()) await work.makeFolder(join(folder, above));
    await work.setAside(place);
    await work.move(partial, place);
    brought.push({ path, how: isChanged ? 'beside' : 'written' });
  }
  return brought;
}

/** The mode of a file that has several names is theirs too: it is replaced like one with another content. */
async function isOtherMode(local: string, partial: string): Promise<boolean> {
  const [ours, theirs] = [await lstat(local), await lstat(partial)];
  return ours.isFile() && ours.mode !== theirs.mode;
}

class UndoableWork {
  readonly #staging: string;
  readonly #steps: (() => Promise<unknown>)[] = [];

  constructor(staging: string) {
    this.#staging = staging;
  }

  /** Moves the file at this path into the staging folder. Does nothing if there is no file. */
  async setAside(path: string): Promise<void> {
    if ((await lstat(path).catch(() => undefined)) === undefined) return;
    await this.move(path, join(this.#staging, `before-${this.#steps.length}`));
  }

  async move(from: string, to: string): Promise<void> {
    await rename(from, to);
    this.#steps.push(() => rename(to, from));
  }

  async makeFolder(path: string): Promise<void> {
    if ((await mkdir(path, { recursive: true })) !== undefined) this.#steps.push(() => rmdir(path));
  }

  /** False: it is not empty, or is the place of something else. */
  async removeEmpty(path: string): Promise<boolean> {
    const facts = await lstat(path).catch(() => undefined);
    const isGone = await rmdir(path).then(
      () => true,
      () => false,
    );
    if (isGone && facts !== undefined) this.#steps.push(() => mkdir(path, { mode: facts.mode & 0o777 }));
    return isGone;
  }

  /** As much as can be: a step that fails keeps none of the others from being undone. */
  async undo(): Promise<void> {
    for (const step of this.#steps.toReversed()) await step().catch(() => {});
  }
}
