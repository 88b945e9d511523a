import { createHash } from 'node:crypto';

/**
 * A short hash of the state folder, because socket paths are limited. Several state folders share a run folder, and
 * each has its own folder in it, so none touches the files of another.
 */
export function stateMarkOf(stateDir: string): string {
  return createHash('sha256').update(stateDir).digest('hex').slice(0, 12);
}
