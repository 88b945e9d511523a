import { chmod, lstat, rm } from 'node:fs/promises';
import { connect, type Server, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { GeodeError } from '../core/errors.ts';
import { checkSocketPath } from '../link/dial.ts';
import { ownFolder, type RoomPlaces, stateMark } from '../runtimes/rooms.ts';

/** Beside those of the rooms, and by the name of the state folder: several may share a run folder. */
export function hostSocketIn(places: RoomPlaces): string {
  const path = join(places.runDir, '.host', stateMark(places));
  checkSocketPath(path);
  return path;
}

/** The API's own, beside it. */
export function apiSocketIn(places: RoomPlaces): string {
  const path = `${hostSocketIn(places)}.api`;
  checkSocketPath(path);
  return path;
}

/** For the holder of the lock, so one that is there already was left by a host that was killed. */
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

/** Undefined when nobody listens there. Who could listen in another's place is not spoken to. */
export async function connectTo(path: string): Promise<Socket | undefined> {
  if (!(await isOwnSocket(path))) return undefined;
  return new Promise((resolve) => {
    const connection = connect(path);
    connection.once('connect', () => resolve(connection)).once('error', () => resolve(undefined));
  });
}

/** False when there is none; `invalid_config` when it may be another user's. */
export async function isOwnSocket(path: string): Promise<boolean> {
  const [folder, socket] = await Promise.all([lstat(dirname(path)), lstat(path)]).catch(() => []);
  if (folder === undefined || socket === undefined) return false;
  const isOurs = [folder, socket].every(
    ({ uid, mode }) => uid === process.getuid?.() && (mode & 0o077) === 0,
  );
  if (!isOurs || !folder.isDirectory() || !socket.isSocket()) {
    throw new GeodeError('invalid_config', `The socket ${path} may be another user's: it is not spoken to.`, {
      hint: `Remove it, or set sandbox.run_dir to a folder of your own.`,
    });
  }
  return true;
}
