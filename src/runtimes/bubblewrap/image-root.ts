import { lstat, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { GeodeError } from '../../base/errors.ts';
import type { Mount } from '../../seams/sandbox.ts';

/** Places that the walls fill themselves. */
const ownPlaces = new Set(['proc', 'dev', 'sys', 'tmp', 'workspace', '.geode']);
/** The root of a real image has about 20 entries. */
const mostEntries = 500;

/** Shows an image from the store read-only, one entry of its root after another, so that mounts fit beside them. */
export async function imageArguments(root: string): Promise<readonly string[]> {
  const entries = await readdir(root, { withFileTypes: true });
  if (entries.length > mostEntries)
    throw new GeodeError(
      'cannot_enforce',
      `The image has more than ${mostEntries} entries in its root folder.`,
      {
        hint: 'Use the oci or docker runtime for it.',
      },
    );
  const parts = entries
    .filter(({ name }) => !ownPlaces.has(name))
    .map(async (entry) => {
      const place = join(root, entry.name);
      if (entry.isSymbolicLink()) return ['--symlink', await readlink(place), `/${entry.name}`];
      return ['--ro-bind', place, `/${entry.name}`];
    });
  return (await Promise.all(parts)).flat();
}

/**
 * Refuses mounts that need a new folder in the image, because the image cannot be changed, and mounts through a link:
 * while bwrap mounts, a link of the image could lead it to the machine's own files.
 */
export async function checkPlaces(root: string, mounts: readonly Mount[]): Promise<void> {
  for (const { target } of mounts) {
    if (await canMountAt(root, target.split('/').filter(Boolean))) continue;
    throw new GeodeError('cannot_enforce', `The image has no place for the mount at ${target}.`, {
      hint: 'Mount it in a folder that the image does not have, or use the oci runtime.',
    });
  }
}

async function canMountAt(root: string, parts: readonly string[]): Promise<boolean> {
  for (const [index, _] of parts.entries()) {
    const facts = await lstat(join(root, ...parts.slice(0, index + 1))).catch(() => undefined);
    if (facts === undefined) return index === 0;
    if (facts.isSymbolicLink()) return false;
  }
  return true;
}
