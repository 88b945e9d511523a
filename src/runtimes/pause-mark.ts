import { lstat, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { absent } from './absent.ts';
import type { Room } from './rooms.ts';

/**
 * Distinguishes a paused sandbox from one whose host was killed while it held it still: only the paused one stays
 * frozen. The mark is set before a pause and removed before a hold, so it is always correct for a frozen sandbox.
 */
export interface PauseMark {
  set(): Promise<void>;
  clear(): Promise<void>;
  isSet(): Promise<boolean>;
}

export function pauseMarkOf({ folder }: Room): PauseMark {
  const path = join(folder, 'paused');
  return {
    set: () => writeFile(path, '', { mode: 0o600 }),
    clear: () => rm(path, { force: true }),
    isSet: async () => (await lstat(path).catch(absent)) !== undefined,
  };
}
