/** Frees what the store contains and nothing needs. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pruned } from '../../seams/image-store.ts';
import { absentFile } from './files.ts';
import type { ImageIndex, ImageRecord } from './image-index.ts';
import type { Layers } from './layers.ts';

export interface Collection {
  readonly index: ImageIndex;
  readonly layers: Layers;
  readonly roots: string;
  readonly drafts: string;
  /** The ids of images that sandboxes use. */
  readonly used: () => Promise<ReadonlySet<string>>;
  readonly isPulling: () => boolean;
}

/** Removes roots and layers without a name or a sandbox, and drafts of killed hosts. */
export async function collectNameless({
  index,
  layers,
  roots,
  drafts,
  used,
  isPulling,
}: Collection): Promise<Pruned> {
  if (isPulling()) return { removed: [], freedBytes: 0 };
  const inUse = await used();
  const records = await index.all();
  const named = new Set(records.map(({ id }) => id));
  for (const name of (await readdir(roots).catch(absentFile)) ?? []) {
    const id = `sha256:${name}`;
    if (!named.has(id) && !inUse.has(id)) await rm(join(roots, name), { recursive: true, force: true });
  }
  const freedBytes = await layers.collect(new Set(records.flatMap((each) => each.layers)));
  for (const draft of (await readdir(drafts).catch(absentFile)) ?? []) {
    if (!new RegExp(`-${process.pid}(?:-|$)`).test(draft)) await removeDraft(join(drafts, draft));
  }
  return { removed: [], freedBytes };
}

/** A program of a killed host may still write there for a moment. Then the next prune removes the draft. */
async function removeDraft(folder: string): Promise<void> {
  const patient = { recursive: true, force: true, maxRetries: 5, retryDelay: 100 };
  await rm(folder, patient).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY') throw error;
  });
}

/**
 * Removes images that no sandbox uses, the longest unused first, until the layers of the others take at most
 * `keepBytes`. Without it, removes all of them.
 */
export async function removeUnused(collection: Collection, keepBytes = -1): Promise<Pruned> {
  const { index, layers, roots, used } = collection;
  const inUse = await used();
  const idle = (await index.all()).filter(({ id }) => !inUse.has(id));
  const aged = await Promise.all(
    idle.map(async (record) => ({ record, usedAt: await index.usedAt(record.name) })),
  );
  const removed: string[] = [];
  const oldestFirst = aged.toSorted((one, other) => one.usedAt - other.usedAt);
  // A limit never removes the newest image, which was pulled to be used now.
  for (const { record } of keepBytes < 0 ? oldestFirst : oldestFirst.slice(0, -1)) {
    const records = await index.all();
    if ((await bytesOf(records, layers)) <= keepBytes) break;
    await index.remove(record.name);
    removed.push(record.name);
    if (!records.some(({ id, name }) => id === record.id && name !== record.name))
      await rm(join(roots, record.id.slice('sha256:'.length)), { recursive: true, force: true });
  }
  return { removed, freedBytes: (await collectNameless(collection)).freedBytes };
}

/** The disk space of these images' layers; shared layers count once. */
async function bytesOf(records: readonly ImageRecord[], layers: Layers): Promise<number> {
  const ids = new Set(records.flatMap((record) => record.layers));
  const sizes = await Promise.all([...ids].map((id) => layers.bytes(id)));
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}
