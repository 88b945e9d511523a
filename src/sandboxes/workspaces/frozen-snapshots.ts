import type { Freezer } from '../../core/sandbox.ts';
import type { Snapshots } from '../../core/snapshots.ts';

/** The same, with the sandbox held still for the moment that matters, where it can be. */
export function frozenSnapshots(snapshots: Snapshots, freezer: Freezer | undefined): Snapshots {
  if (freezer === undefined) return snapshots;
  const freeze = () => freezer.hold();
  return {
    ...snapshots,
    take: (options = {}) => snapshots.take({ freeze, ...options }),
    restore: (name, options = {}) => snapshots.restore(name, { freeze, ...options }),
    mark: (options = {}) => snapshots.mark({ freeze, ...options }),
    undo: (options = {}) => snapshots.undo({ freeze, ...options }),
  };
}
