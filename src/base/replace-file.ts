import { randomBytes } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/**
 * Replaces a file atomically: `write` makes the new file next to it, and a reader, at any time or after a crash,
 * finds the old file or the new one. If `write` fails, the old file stays.
 */
export async function replaceFile(path: string, write: (draft: string) => Promise<unknown>): Promise<void> {
  const draft = join(dirname(path), `.${randomBytes(6).toString('hex')}.new`);
  try {
    await write(draft);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
