import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * Files that survive a run: images, engine storage, downloaded packages. Safe to delete when the engines are down.
 */
export const cacheFolder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'geode-test');

/**
 * Sockets, pid files, locks and logs. One fixed place: two daemons on one storage folder would destroy it,
 * so every run on the machine has to look at the same pid files and locks, whatever its environment says.
 */
export const runtimeFolder = '/run/geode-test';
