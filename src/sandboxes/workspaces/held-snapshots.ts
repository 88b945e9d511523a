import type { Freezer } from '../../core/sandbox.ts';
import type { Freezing, Snapshots } from '../../core/snapshots.ts';

/**
 * Snapshots of a sandbox that may be stopped meanwhile: the workspace is held where it is for as long as one
 * is at work on it, and the sandbox is held still for the moment that matters, where it can be.
 */
export function heldSnapshots(
  snapshots: Snapshots,
  hold: () => Promise<AsyncDisposable | undefined>,
  freezer: Freezer | undefined,
): Snapshots {
  const held = async <T>(work: () => Promise<T>): Promise<T> => {
    await using _place = await hold();
    return await work();
  };
  const still: Freezing = freezer === undefined ? {} : { freeze: () => freezer.hold() };
  return {
    list: (options) => snapshots.list(options),
    remove: (name, options) => snapshots.remove(name, options),
    take: (options = {}) => held(() => snapshots.take({ ...still, ...options })),
    restore: (name, options = {}) => held(() => snapshots.restore(name, { ...still, ...options })),
    mark: (options = {}) => held(() => snapshots.mark({ ...still, ...options })),
    undo: (options = {}) => held(() => snapshots.undo({ ...still, ...options })),
    textDiff: (path, from, options) => held(() => snapshots.textDiff(path, from, options)),
    async *diff(from, options) {
      await using _place = await hold();
      yield* snapshots.diff(from, options);
    },
  };
}
