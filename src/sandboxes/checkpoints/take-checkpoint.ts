import { randomBytes } from 'node:crypto';
import type { Cancel } from '../../base/cancel.ts';
import { GeodeError } from '../../base/errors.ts';
import type { Checkpoint, Checkpoints, SavedMemory } from '../../seams/checkpoints.ts';
import type { HostWorkspaces, Runtime } from '../../seams/runtime.ts';
import type { Sandbox } from '../../seams/sandbox.ts';
import type { Snapshots } from '../../seams/snapshots.ts';
import { snapshotsOf } from '../snapshots/snapshots-of.ts';
import { CheckpointFolder, type StoredCheckpoint } from './checkpoint-folder.ts';

/** The quota of users limits checkpoints, not the store of their files. */
const filesPolicy = { most: 1_000_000, mostUndo: 0, mostTurn: 0, mostBytes: null, deadlineMs: 15 * 60_000 };

export interface TakeCheckpoint extends Cancel {
  readonly name?: string | undefined;
  /** Throws if the user has no room for a checkpoint of this size. */
  readonly admit?: (checkpoint: Pick<Checkpoint, 'memoryBytes' | 'fileBytes'>) => Promise<void>;
}

/** Saved memory and files that nobody has listed yet. */
interface Draft {
  readonly path: string;
  readonly checkpoint: Omit<StoredCheckpoint, 'name'>;
}

/** Keeps a checkpoint of a running sandbox. */
export async function takeCheckpoint(
  sandbox: Sandbox,
  runtime: Runtime,
  { name: asked, admit, signal }: TakeCheckpoint = {},
): Promise<StoredCheckpoint> {
  const folder = await checkpointFolder(runtime, sandbox.id);
  const name = await folder.newName(asked);
  return withDraft(sandbox, runtime, { isDurable: true, signal }, async ({ path, checkpoint }) => {
    await admit?.(checkpoint);
    const stored = { ...checkpoint, name };
    await folder.publish(path, stored);
    return stored;
  });
}

/**
 * Saves memory, journals and files of a running sandbox at one moment: it is frozen from before its memory is saved
 * until every file that changed was copied. `use` runs while it goes on. What `use` did not publish is removed.
 */
export async function withDraft<T>(
  sandbox: Sandbox,
  runtime: Runtime,
  { isDurable, signal }: { readonly isDurable: boolean } & Cancel,
  use: (draft: Draft) => Promise<T>,
): Promise<T> {
  const { checkpoints, workspaces } = able(sandbox, runtime);
  const folder = await checkpointFolder(runtime, sandbox.id);
  await using place = await workspaces.hold(sandbox.id);
  const files = snapshotsOf({ ...place, folder: folder.files }, filesPolicy);
  await collect(folder, files);
  const path = await folder.newDraft();
  const snapshot = `files-${randomBytes(8).toString('hex')}`;
  try {
    let memory: SavedMemory | undefined;
    const freeze = async () => {
      memory = await checkpoints.save(path, { isDurable, signal });
      return memory;
    };
    const { takenAt, addedBytes } = await files.take({ name: snapshot, freeze, signal });
    if (memory === undefined) throw new GeodeError('internal', 'The memory of the sandbox was not saved.');
    const { memoryBytes, journalBytes, format } = await memory.seal();
    const checkpoint = { takenAt, memoryBytes, fileBytes: addedBytes + journalBytes, format, snapshot };
    return await use({ path, checkpoint });
  } finally {
    await collect(folder, files).catch(() => {});
  }
}

export async function checkpointFolder(runtime: Runtime, id: string): Promise<CheckpointFolder> {
  if (runtime.checkpoints === undefined) throw cannotSave(runtime.name);
  return new CheckpointFolder(await runtime.checkpoints.folder(id));
}

/** Removes a checkpoint with its files. False if there is none of that name. */
export async function removeCheckpoint(runtime: Runtime, id: string, name: string): Promise<boolean> {
  const folder = await checkpointFolder(runtime, id);
  const removed = await folder.remove(name);
  const { workspaces } = runtime;
  if (!removed || workspaces === undefined) return removed;
  await using place = await workspaces.hold(id);
  await collect(folder, snapshotsOf({ ...place, folder: folder.files }, filesPolicy));
  return true;
}

/** In the chat's turn, when a host starts: removes what a killed host left. */
export async function tidyCheckpoints(runtime: Runtime, id: string): Promise<void> {
  if (runtime.checkpoints === undefined) return;
  const folder = await checkpointFolder(runtime, id);
  await folder.removeDrafts();
  if ((await folder.stored()).length === 0) await folder.removeFiles();
}

/** Removes drafts, and files without a checkpoint. */
async function collect(folder: CheckpointFolder, files: Snapshots): Promise<void> {
  await folder.removeDrafts();
  if ((await folder.stored()).length === 0) return folder.removeFiles();
  const used = new Set((await folder.stored()).map(({ snapshot }) => snapshot));
  const { snapshots } = await files.list();
  for (const { name } of snapshots) if (!used.has(name)) await files.remove(name);
}

function able(
  { checkpoints }: Sandbox,
  { name, workspaces }: Runtime,
): { readonly checkpoints: Checkpoints; readonly workspaces: HostWorkspaces } {
  if (checkpoints !== undefined && workspaces !== undefined) return { checkpoints, workspaces };
  throw cannotSave(name);
}

export function cannotSave(runtime: string): GeodeError {
  return new GeodeError(
    'cannot_enforce',
    `The ${runtime} runtime cannot save the memory of a sandbox here: that needs gVisor.`,
    { hint: 'Create the sandbox with --runtime oci where runsc is installed (docs/runtimes.md).' },
  );
}
