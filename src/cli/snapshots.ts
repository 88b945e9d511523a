import { GeodeError } from '../base/errors.ts';
import type { RemoteSnapshots } from '../client/snapshots.ts';
import type { Restored } from '../seams/snapshots.ts';

/** The newest of all, undo points included. */
export async function newestOf(snapshots: Pick<RemoteSnapshots, 'list'>): Promise<string> {
  const newest = (await snapshots.list()).snapshots.at(-1);
  if (newest !== undefined) return newest.kind === 'undo' ? 'undo' : newest.name;
  throw new GeodeError('snapshot_not_found', 'This sandbox has no snapshot yet.', {
    hint: 'geode sandbox snapshot CHAT takes one.',
  });
}

export function restoredText({ written, removed, changed, left }: Restored): string {
  const lost = left === 0 ? '' : `, ${left} could not be brought back`;
  return `${written} written, ${removed} removed, ${changed} with another mode, owner or time${lost}`;
}
