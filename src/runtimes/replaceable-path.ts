import { lstat } from 'node:fs/promises';
import { join, sep } from 'node:path';

/**
 * The first part of a path that another user could replace; undefined if none. A user who may write to a folder can
 * swap its entries for links, so every folder on the way must belong to root or this user and be closed to others. In
 * a sticky folder others can only swap what they own. The check goes from the top down: each part is fixed before the
 * next one is checked. The content of the last folder does not count.
 */
export async function replaceablePart(path: string, uid: number): Promise<string | undefined> {
  const isTrusted = (owner: number) => owner === 0 || owner === uid;
  let folder: string = sep;
  let above = await lstat(folder);
  for (const part of path.split(sep).filter((name) => name !== '')) {
    const next = join(folder, part);
    const facts = await lstat(next);
    const othersWrite = (above.mode & 0o022) !== 0;
    const isSticky = (above.mode & 0o1000) !== 0;
    if (!isTrusted(above.uid) || (othersWrite && !(isSticky && isTrusted(facts.uid)))) return folder;
    if (facts.isSymbolicLink()) return next;
    folder = next;
    above = facts;
  }
  return undefined;
}
