import { chmod, rm } from 'node:fs/promises';
import type { Server } from 'node:net';
import { dirname, join } from 'node:path';
import { checkSocketPath } from '../link/dial.ts';
import { ownFolder, type RoomPlaces, stateMark } from '../runtimes/rooms.ts';

/** Next to the rooms' sockets, named by the state folder, because several may share a run folder. */
export function apiSocketIn(places: RoomPlaces): string {
  const path = join(places.runDir, '.host', `${stateMark(places)}.api`);
  checkSocketPath(path);
  return path;
}

/** For the holder of the lock, so an existing socket was left by a killed host. */
export async function listenAt(path: string, server: Server): Promise<void> {
  const folder = dirname(path);
  await ownFolder(dirname(folder));
  await ownFolder(folder);
  await chmod(folder, 0o700);
  await rm(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  await chmod(path, 0o600);
}
