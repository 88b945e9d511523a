import type { Cancel } from '../../base/cancel.ts';
import type { Freezing, Restored, WorkspacePlace } from '../../seams/snapshots.ts';
import { pointOf } from './snapshot-names.ts';
import { defaultSnapshotPolicy, frozenAnswer, restoredSchema, type SnapshotPolicy } from './snapshots-of.ts';

export interface ForkWorkspaceOptions extends Freezing, Cancel {
  /** The snapshot to start from; without one the source's current workspace. */
  readonly snapshot?: string | undefined;
}

/**
 * Fills the empty workspace of a sandbox that is not running yet with the files of another sandbox, which may be
 * running. Files of the source's user become files of the target's; nothing else is shared. A failure leaves the
 * target empty. Throws `file_exists` if the target is not empty.
 */
export async function forkWorkspace(
  source: WorkspacePlace,
  target: Pick<WorkspacePlace, 'workspace' | 'owner'>,
  { snapshot, freeze, signal }: ForkWorkspaceOptions = {},
  { deadlineMs }: SnapshotPolicy = defaultSnapshotPolicy,
): Promise<Restored> {
  const request = {
    verb: 'fork',
    store: source.folder,
    workspace: source.workspace,
    ...(snapshot === undefined ? { kind: 'kept' } : pointOf(snapshot)),
    into: target.workspace,
    from: source.owner,
    to: target.owner,
  };
  const job = { program: source.program, what: 'Forking a workspace', request, deadlineMs, signal };
  return frozenAnswer(job, snapshot === undefined ? { freeze } : {}, restoredSchema);
}
