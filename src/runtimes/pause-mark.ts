import { lstat, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { absent } from './absent.ts';
import type { Room } from './rooms.ts';

/**
 * Tells a sandbox that was paused from one whose host was killed while it held it still: only the first is meant to
 * stay frozen. Set before a pause and cleared before a hold, so that of a frozen one it is always true.
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
