import { lstatSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { GeodeError } from '../base/errors.ts';

/** Returns false if there is no socket; throws `invalid_config` if it may belong to another user. */
export function isOwnSocket(path: string): boolean {
  const [folder, socket] = [dirname(path), path].map(stateOf);
  if (folder === undefined || socket === undefined) return false;
  const isOurs = [folder, socket].every(
    ({ uid, mode }) => uid === process.getuid?.() && (mode & 0o077) === 0,
  );
  if (!isOurs || !folder.isDirectory() || !socket.isSocket()) {
    throw new GeodeError(
      'invalid_config',
      `The socket ${path} may belong to another user, so it is not used.`,
      {
        hint: `Remove it, or set sandbox.run_dir to a folder of your own.`,
      },
    );
  }
  return true;
}

function stateOf(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}
