// Loaded with the first use, which `node:fs/promises` is not.
import { promises } from 'node:fs';
import { resolve } from 'node:path';
import { GeodeError, reasonOf } from '../../base/errors.ts';

/** The content of a file that the command line names. */
export async function readGiven(path: string, cwd: string): Promise<Buffer> {
  try {
    return await promises.readFile(resolve(cwd, path));
  } catch (cause) {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
    const message = isMissing ? `No such file: ${path}.` : `${path} cannot be read: ${reasonOf(cause)}.`;
    throw new GeodeError('invalid_input', message, {
      cause,
      hint: isMissing ? `A relative path starts in ${cwd}.` : 'Name a file that you may read.',
    });
  }
}
