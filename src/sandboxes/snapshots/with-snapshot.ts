import { randomBytes } from 'node:crypto';
import type { Cancel } from '../../base/cancel.ts';
import type { KeptFiles } from '../../seams/persistent.ts';
import type { AttachedWorkspace } from '../../seams/runtime.ts';
import type { Snapshots } from '../../seams/snapshots.ts';
import type { Registry } from '../registry.ts';
import { defaultSnapshotPolicy, snapshotsOf } from './snapshots-of.ts';

/** Names of the snapshots that last as long as some work. */
const prefix = 'geode-kept-';
/** Beyond the limit for a user's own snapshots, so that these are neither refused nor removed. */
const policy = { ...defaultSnapshotPolicy, most: 10_000 };

/** In the chat's turn for the snapshot alone: others may use the sandbox while the work reads it. */
export async function withSnapshot<T>(
  registry: Registry,
  { user, chat }: { readonly user: string; readonly chat: string },
  work: (kept: KeptFiles) => Promise<T>,
  cancel: Cancel,
): Promise<T | undefined> {
  const taken = await registry.inTurn(user, chat, cancel, async () => {
    const entry = await registry.get(user, chat);
    const { workspaces } = registry.runtimeOf(entry);
    if (workspaces === undefined) return undefined;
    await using held = new AsyncDisposableStack();
    const place: AttachedWorkspace = held.use(await workspaces.hold(entry.id));
    const snapshots = snapshotsOf(place, policy);
    await removeLeft(snapshots, cancel);
    const freezer = registry.heldOf(entry)?.sandbox.freezer;
    const freeze = freezer && (() => freezer.hold());
    const name = `${prefix}${randomBytes(6).toString('hex')}`;
    const snapshot = await snapshots.take({ name, freeze, ...cancel });
    held.defer(async () => void (await snapshots.remove(name)));
    return { kept: { ...place, id: entry.id, snapshot }, held: held.move() };
  });
  if (taken === undefined) return undefined;
  await using _held = taken.held;
  return await work(taken.kept);
}

/** Removes snapshots that a killed host left. */
async function removeLeft(snapshots: Snapshots, cancel: Cancel): Promise<void> {
  const { snapshots: found } = await snapshots.list(cancel);
  for (const { name } of found) if (name.startsWith(prefix)) await snapshots.remove(name, cancel);
}
