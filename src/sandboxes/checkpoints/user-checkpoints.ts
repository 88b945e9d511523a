import type { Cancel } from '../../base/cancel.ts';
import { GeodeError } from '../../base/errors.ts';
import { newMarkedId } from '../../pool/host-mark.ts';
import type { Checkpoint } from '../../seams/checkpoints.ts';
import type { PersistentSandbox } from '../../seams/persistent.ts';
import type { AttachedWorkspace } from '../../seams/runtime.ts';
import type { AttachedSandbox } from '../attached-sandbox.ts';
import type { Registry } from '../registry.ts';
import type { SandboxRow } from '../sandbox-table.ts';
import { forkWorkspace } from '../snapshots/fork-workspace.ts';
import { bytesOf } from './checkpoint-folder.ts';
import { cannotSave, checkpointFolder, takeCheckpoint, withDraft } from './take-checkpoint.ts';

/** In the chat's turn: a checkpoint of a sandbox that runs or hibernates. */
export async function checkpointOf(
  registry: Registry,
  entry: SandboxRow,
  name: string | undefined,
  { signal }: Cancel,
): Promise<Checkpoint> {
  const held = await awake(registry, entry, { signal });
  const { memoryBytes } = held.paused ? { memoryBytes: 0 } : await held.sandbox.metrics({ signal });
  const admit = (size: Pick<Checkpoint, 'memoryBytes' | 'fileBytes'>) => checkQuota(registry, entry, size);
  await admit({ memoryBytes, fileBytes: 0 });
  const runtime = registry.runtimeOf(entry);
  const { snapshot: _, ...checkpoint } = await takeCheckpoint(held.sandbox, runtime, { name, admit, signal });
  registry.emit(entry, { type: 'sandbox-checkpoint', checkpoint: checkpoint.name });
  return checkpoint;
}

/**
 * In both chats' turns: another sandbox with the processes, memory, files and journals of this one, as they are now or
 * in a checkpoint.
 */
export async function forkLive(
  registry: Registry,
  entry: SandboxRow,
  to: string,
  { checkpoint: name, ...cancel }: { readonly checkpoint?: string | undefined } & Cancel,
): Promise<PersistentSandbox> {
  const runtime = registry.runtimeOf(entry);
  const { checkpoints, workspaces } = runtime;
  if (checkpoints === undefined || workspaces === undefined) throw cannotSave(runtime.name);
  const folder = await checkpointFolder(runtime, entry.id);
  const held = name === undefined ? await awake(registry, entry, cancel) : undefined;
  const egress = registry.egress.remembered(entry.id);
  const spec = { ...entry.spec, runtime: entry.runtime, ...(egress && { egress }) };
  const openFrom = async (path: string, snapshot: string) => {
    const fill = async (into: AttachedWorkspace) => {
      await using place = await workspaces.hold(entry.id);
      await forkWorkspace({ ...place, folder: folder.files }, into, { snapshot, ...cancel });
    };
    const id = newMarkedId('room');
    return { runtime, sandbox: await checkpoints.open({ source: entry.id, folder: path, id, fill }, cancel) };
  };
  const claim = async () => {
    if (held === undefined) {
      const { snapshot } = await folder.get(name ?? '');
      return openFrom(folder.pathOf(name ?? ''), snapshot);
    }
    return withDraft(held.sandbox, runtime, { isDurable: false, ...cancel }, ({ path, checkpoint }) =>
      openFrom(path, checkpoint.snapshot),
    );
  };
  const forked = await registry.create(entry.user, to, spec, cancel, { claim });
  registry.emit({ ...entry, id: forked.id, chat: to }, { type: 'sandbox-fork', from: entry.id });
  return forked;
}

/** Running under this host; a hibernated one is woken. A stopped one has no memory to save. */
async function awake(registry: Registry, entry: SandboxRow, cancel: Cancel): Promise<AttachedSandbox> {
  const { name, checkpoints } = registry.runtimeOf(entry);
  if (checkpoints === undefined) throw cannotSave(name);
  const held = registry.heldOf(entry);
  if (held !== undefined) return held;
  if ((await registry.inspect(entry.user, entry.chat, cancel)).state === 'hibernated')
    await registry.open(entry, cancel);
  const woken = registry.heldOf(entry);
  if (woken !== undefined) return woken;
  throw new GeodeError('sandbox_stopped', 'A stopped sandbox has no processes and no memory to save.', {
    hint: 'Start it, or copy its files alone: geode sandbox fork without --live.',
  });
}

/** The checkpoints of all sandboxes of a user together may use a limited part of the disk. */
async function checkQuota(
  registry: Registry,
  { user }: SandboxRow,
  size: Pick<Checkpoint, 'memoryBytes' | 'fileBytes'>,
): Promise<void> {
  const { mostCheckpointBytes: most } = registry;
  if (most === null) return;
  const lists = registry.table.ofUser(user).map(async (entry) => {
    const runtime = registry.runtimeOf(entry);
    if (runtime.checkpoints === undefined) return 0;
    return (await (await checkpointFolder(runtime, entry.id)).list()).diskBytes;
  });
  const used = (await Promise.all(lists)).reduce((sum, bytes) => sum + bytes, 0);
  if (used + bytesOf(size) <= most) return;
  throw new GeodeError(
    'checkpoint_limit',
    `The checkpoints of this user use ${used} bytes; with this one they would exceed ${most}.`,
    { details: { usedBytes: used, limitBytes: most } },
  );
}
