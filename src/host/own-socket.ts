import { lstat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { GeodeError } from '../core/errors.ts';

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
