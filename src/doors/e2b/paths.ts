import { posix } from 'node:path';
import type { PersistentSandbox } from '../../seams/persistent.ts';

/** Where programs written for E2B store their files: here that is the workspace. */
const home = '/home/user';

/** Converts a caller's path to a path in the sandbox: relative paths start in the workspace. */
export function absolutePath(path: string, { workdir }: Pick<PersistentSandbox, 'workdir'>): string {
  const given = path === '~' || path.startsWith('~/') ? `.${path.slice(1)}` : path;
  const absolute = posix.resolve(workdir, given);
  if (absolute !== home && !absolute.startsWith(`${home}/`)) return absolute;
  return posix.join(workdir, absolute.slice(home.length));
}

/** The same file in the words of E2B's programs. */
export function shownPath(path: string, { workdir }: Pick<PersistentSandbox, 'workdir'>): string {
  const isInside = path === workdir || path.startsWith(`${workdir}/`);
  return isInside ? posix.join(home, path.slice(workdir.length)) : path;
}
