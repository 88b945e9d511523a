/** The files of a folder of this machine that an agent works on, and what may be done to them. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir, readlink, realpath } from 'node:fs/promises';
import { join, posix, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { GeodeError } from '../../base/errors.ts';

/** By path with `/`: what identifies the content of a file, or the target of a link. */
export type Tree = ReadonlyMap<string, string>;

/** Names of staging folders: they hold new and replaced files until all changes are applied. */
const staging = /^\.geode-[0-9a-f]{12}\.partial$/;

export function isStaging(path: string): boolean {
  return staging.test(path);
}

/** Where the agent keeps its sessions in the workspace. */
const ownFolder = '.geode';
/** Suffix of the agent's version of a file that both sides changed. */
export const besideEnding = '.agent';
const mostFiles = 100_000;

/** The real path of a folder that may be shown to an agent whole. */
export async function folderOf(given: string, { home, own }: { home: string; own: readonly string[] }) {
  const refuse = (why: string, cause?: unknown): never => {
    throw new GeodeError('invalid_input', `The folder ${given} cannot be given to an agent: ${why}.`, {
      hint: 'Name the folder of one project.',
      cause,
    });
  };
  const folder = await realpath(given).catch((error) => refuse('it is not there', error));
  if (!(await lstat(folder)).isDirectory()) refuse('it is no folder');
  const places = await Promise.all([home, ...own].map((path) => realpath(path).catch(() => path)));
  const shown = places.find((path) => `${path}${sep}`.startsWith(folder === '/' ? '/' : `${folder}${sep}`));
  if (shown !== undefined) refuse(`it would show ${shown}`);
  const isHome = await lstat(join(folder, '.ssh')).catch(() => undefined);
  if (isHome !== undefined) refuse('it holds a folder named .ssh');
  return folder;
}

/** Links are not followed. What is in `.git` is not looked at: it goes in once and never comes back. */
export async function readTree(folder: string): Promise<Tree> {
  const tree = new Map<string, string>();
  const walk = async (below: string): Promise<void> => {
    for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
      const path = posix.join(below, entry.name);
      if (isKept(path) || isStaging(path)) continue;
      if (entry.isDirectory()) {
        await walk(path);
        continue;
      }
      const mark = await markOf(join(folder, path));
      if (mark !== undefined) tree.set(path, mark);
      if (tree.size > mostFiles)
        throw new GeodeError('too_large', `${folder} holds more than ${mostFiles} files.`, {
          hint: 'Name a folder with fewer files.',
        });
    }
  };
  await walk('');
  return tree;
}

/** Undefined where there is neither a file nor a link. */
export async function markOf(path: string): Promise<string | undefined> {
  const facts = await lstat(path).catch(() => undefined);
  if (facts?.isSymbolicLink()) return `${linkSign}${await readlink(path)}`;
  if (!facts?.isFile()) return undefined;
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

const linkSign = 'link ';

/** Undefined if it is not a link. */
export function linkTarget(mark: string | undefined): string | undefined {
  return mark?.startsWith(linkSign) ? mark.slice(linkSign.length) : undefined;
}

/**
 * Not brought back from a sandbox, wherever it is: git runs programs that are named in there. Some file systems take
 * letters of another case, or those that nobody sees, for the same name.
 */
export function isKept(path: string): boolean {
  const parts = path.split('/').map((part) => part.replace(/\p{Cf}/gu, '').toLowerCase());
  return parts[0] === ownFolder || parts.includes('.git') || parts.includes('git~1');
}

/** Whether a path stays in the folder when its links are followed. Ignores entries that the plan removes. */
export async function isInside(
  folder: string,
  path: string,
  isGoing: ReadonlySet<string> = new Set(),
): Promise<boolean> {
  if (path === '' || path.includes('\0') || posix.isAbsolute(path) || posix.normalize(path) !== path)
    return false;
  if (path.split('/').includes('..')) return false;
  for (const above of foldersAbove(path)) {
    const facts = await lstat(join(folder, above)).catch(() => undefined);
    if (facts !== undefined && !facts.isDirectory() && !isGoing.has(above)) return false;
  }
  return true;
}

/** The folders that a path is in, the nearest first. */
export function foldersAbove(path: string): readonly string[] {
  const above = posix.dirname(path);
  return above === '.' ? [] : [above, ...foldersAbove(above)];
}

/** Steps up are counted from where the link is, so that none may come behind a name: that may be a link itself. */
export function isInnerLink(path: string, target: string): boolean {
  if (target === '' || target.includes('\0') || posix.isAbsolute(target)) return false;
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const ups = parts.findIndex((part) => part !== '..');
  const names = ups < 0 ? [] : parts.slice(ups);
  return !names.includes('..') && parts.length - names.length <= foldersAbove(path).length;
}

/** An inner link that also leads through no link of the person's own out of the folder. */
export async function isLinkWithin(folder: string, path: string, target: string): Promise<boolean> {
  if (!isInnerLink(path, target)) return false;
  const end = posix.join(posix.dirname(path), target);
  for (const place of [end, ...foldersAbove(end)]) {
    const real = await realpath(join(folder, place)).catch(() => undefined);
    if (real === undefined) {
      const facts = await lstat(join(folder, place)).catch(() => undefined);
      if (facts?.isSymbolicLink()) return false;
    } else return real === folder || real.startsWith(`${folder}${sep}`);
  }
  return true;
}
