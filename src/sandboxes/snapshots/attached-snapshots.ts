import type { AttachedWorkspace } from '../../seams/runtime.ts';
import type { Sandbox } from '../../seams/sandbox.ts';
import type { Freezing, Snapshots } from '../../seams/snapshots.ts';
import { snapshotsOf } from './snapshots-of.ts';

/**
 * Snapshots of a sandbox that may stop at any time. The workspace stays mounted during a snapshot operation, and the
 * sandbox is frozen for the critical moment if possible. After the sandbox ends nothing is changed: another host may
 * use its files by now.
 */
export function attachedSnapshots(sandbox: Sandbox, hold: () => Promise<AttachedWorkspace>): Snapshots {
  const { freezer } = sandbox;
  let known: Snapshots | undefined;
  const checkEnd = () => {
    if (sandbox.end !== undefined) throw sandbox.end;
  };
  const snapshotsIn = (place: AttachedWorkspace): Snapshots => {
    checkEnd();
    known ??= snapshotsOf(place);
    return known;
  };
  const held = async <T>(work: (snapshots: Snapshots) => Promise<T>): Promise<T> => {
    checkEnd();
    await using place = await hold();
    return await work(snapshotsIn(place));
  };
  const still: Freezing = freezer === undefined ? {} : { freeze: () => freezer.hold() };
  return {
    list: (options) => held((snapshots) => snapshots.list(options)),
    remove: (name, options) => held((snapshots) => snapshots.remove(name, options)),
    take: (options) => held((snapshots) => snapshots.take({ ...still, ...options })),
    restore: (name, options) => held((snapshots) => snapshots.restore(name, { ...still, ...options })),
    mark: (options) => held((snapshots) => snapshots.mark({ ...still, ...options })),
    markTurnEnd: (options) => held((snapshots) => snapshots.markTurnEnd({ ...still, ...options })),
    undo: (options) => held((snapshots) => snapshots.undo({ ...still, ...options })),
    textDiff: (path, from, options) => held((snapshots) => snapshots.textDiff(path, from, options)),
    async *diff(from, options) {
      checkEnd();
      await using place = await hold();
      yield* snapshotsIn(place).diff(from, options);
    },
  };
}
