import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Cancel, cancelled, throwIfCancelled } from '../../base/cancel.ts';
import { GeodeError } from '../../base/errors.ts';
import { KeyedTurns } from '../../base/keyed-turns.ts';
import { Notifier } from '../../base/notifier.ts';
import { Turns } from '../../base/turns.ts';
import type { ImageStore, ListedImage, StoredImage } from '../../seams/image-store.ts';
import type { ImageFacts, PullProgress } from '../../seams/images.ts';
import { type ArchivedImage, readArchive } from './archive.ts';
import { collectNameless, removeUnused } from './collect.ts';
import type { Credentials } from './credentials.ts';
import { writtenArchive } from './export.ts';
import { absentFile } from './files.ts';
import { ImageIndex, type ImageRecord } from './image-index.ts';
import { Layers } from './layers.ts';
import { type Manifest, readConfig, readManifest } from './manifest.ts';
import { parseReference, type Reference } from './reference.ts';
import { Repository } from './registry.ts';
import { merge, unpack } from './unpack.ts';

export interface ImageStoreOptions {
  /** Folder of the images. */
  readonly folder: string;
  /** The program `images` of guest/cmd. */
  readonly program: string;
  /** In the registries' terms: `amd64`, `arm64`. */
  readonly architecture: string;
  readonly credentials: Credentials;
  /** The ids or names of images that sandboxes use. */
  readonly used: () => Promise<readonly string[]>;
  /** Unpacked bytes to keep; above that, unused images are removed, the longest unused first. */
  readonly keepBytes?: number | undefined;
  readonly limits?: { readonly bytes: number; readonly entries: number };
}

const defaultLimits = { bytes: 20 * 1024 ** 3, entries: 1_000_000 };
const layersAtOnce = 3;

/** Opens the store of images below a folder. Creates nothing before the first pull. */
export function openImageStore(options: ImageStoreOptions): ImageStore {
  const { folder, program, architecture, credentials, used, keepBytes, limits = defaultLimits } = options;
  const drafts = join(folder, 'drafts');
  const roots = join(folder, 'roots');
  const index = new ImageIndex(join(folder, 'names'));
  const layers = new Layers(join(folder, 'layers'), drafts, program, limits);
  const turns = new KeyedTurns();
  let pulling = 0;
  const rootOf = (id: string) => join(roots, id.slice('sha256:'.length));

  const recordOf = async (name: string): Promise<ImageRecord | undefined> => {
    const record = /^sha256:[0-9a-f]{64}$/.test(name)
      ? await index.byId(name)
      : await index.get(parseReference(name).name);
    return record !== undefined && (await stat(rootOf(record.id)).catch(absentFile)) !== undefined
      ? record
      : undefined;
  };

  const usedIds = async (): Promise<ReadonlySet<string>> => {
    const records = await Promise.all((await used()).map((word) => recordOf(word).catch(() => undefined)));
    return new Set(records.flatMap((record) => (record === undefined ? [] : [record.id])));
  };

  /** Merges the layers of an image into its root, atomically for readers. */
  const makeRoot = (id: string, diffIds: readonly string[], cancel: Cancel) =>
    turns.in([id], async () => {
      if ((await stat(rootOf(id)).catch(absentFile)) !== undefined) return;
      const draft = join(drafts, `root-${id.slice(7, 19)}-${process.pid}`);
      await rm(draft, { recursive: true, force: true });
      await mkdir(draft, { recursive: true, mode: 0o755 });
      try {
        await merge(
          program,
          diffIds.map((diffId) => layers.path(diffId)),
          draft,
          cancel,
        );
        await mkdir(roots, { recursive: true, mode: 0o755 });
        await rename(draft, rootOf(id));
      } finally {
        await rm(draft, { recursive: true, force: true });
      }
    });

  const pullInto = async (reference: Reference, progress: Progress, cancel: Cancel): Promise<void> => {
    await mkdir(drafts, { recursive: true, mode: 0o755 });
    const repository = new Repository(reference, credentials);
    const { manifest, digest } = await manifestOf(repository, reference, architecture, cancel);
    const text = await repository.text(manifest.config, cancel);
    const config = readConfig(text, reference.name, architecture);
    const diffIds = config.rootfs.diff_ids;
    if (diffIds.length !== manifest.layers.length) {
      throw new GeodeError(
        'pull_failed',
        `${reference.name} lists ${manifest.layers.length} layers but describes ${diffIds.length}.`,
      );
    }
    await keep(
      {
        names: [reference.name],
        id: manifest.config.digest,
        text,
        config,
        layers: manifest.layers.map((descriptor, position) => ({
          descriptor,
          diffId: diffIds[position] ?? '',
          bytes: (signal) => repository.blob(descriptor, { signal }),
        })),
      },
      digest,
      progress,
      cancel,
    );
  };

  /** Unpacks the layers of an image, a few at a time, merges them, and gives the image its names. */
  const keep = async (image: ArchivedImage, digest: string | null, progress: Progress, cancel: Cancel) => {
    const sizeBytes = image.layers.reduce((sum, { descriptor }) => sum + descriptor.size, 0);
    progress.total(sizeBytes);
    const places = new Turns(layersAtOnce);
    const stop = new AbortController();
    const signal = cancel.signal === undefined ? stop.signal : AbortSignal.any([cancel.signal, stop.signal]);
    const works = image.layers.map((layer) =>
      places.in(() => layers.ensure(layer, (bytes) => progress.received(bytes), { signal }), { signal }),
    );
    for (const work of works) work.catch((error) => stop.abort(error));
    const failed = (await Promise.allSettled(works)).find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw stop.signal.reason ?? failed.reason;
    progress.status('Unpacking');
    const diffIds = image.layers.map(({ diffId }) => diffId);
    await makeRoot(image.id, diffIds, cancel);
    const { id, text: config } = image;
    const env = envOf(image.config.config?.Env ?? []);
    for (const name of image.names)
      await index.set({ name, id, digest, sizeBytes, layers: diffIds, env, config, pulledAt: Date.now() });
  };

  // A pull in progress has layers without a name yet; the next removal or pull collects the rest.
  const collection = { index, layers, roots, drafts, used: usedIds, isPulling: () => pulling > 0 };
  const keepWithin = async () => {
    if (keepBytes !== undefined) await removeUnused(collection, keepBytes);
  };

  return {
    async find(name) {
      const record = await recordOf(name);
      return record && factsOf(record);
    },

    async *pull(name, { signal } = {}) {
      const reference = parseReference(name);
      throwIfCancelled(signal, `Pulling ${name}`);
      const stop = new AbortController();
      const both = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
      const progress = new Progress();
      pulling += 1;
      const working = turns.in([reference.name], () => pullInto(reference, progress, { signal: both }), {
        signal: both,
      });
      try {
        yield* progress.until(working);
        await working;
      } catch (error) {
        if (signal?.aborted) throw cancelled(`Pulling ${name}`, signal.reason);
        throw error;
      } finally {
        stop.abort();
        await working.catch(() => {});
        pulling -= 1;
      }
      await keepWithin();
    },

    async open(name): Promise<StoredImage> {
      const record = await recordOf(name);
      if (record === undefined) throw missing(name);
      await index.touch(record.name);
      return { ...factsOf(record), root: rootOf(record.id), env: record.env };
    },

    async save(name, { signal } = {}) {
      const record = await recordOf(name);
      if (record === undefined) throw missing(name);
      await mkdir(drafts, { recursive: true, mode: 0o755 });
      const folder = await mkdtemp(join(drafts, `export-${process.pid}-`));
      return writtenArchive(record, { folder, layers, program, architecture, signal });
    },

    async load(archive, { name, signal } = {}) {
      await mkdir(drafts, { recursive: true, mode: 0o700 });
      const folder = await mkdtemp(join(drafts, 'archive-'));
      pulling += 1;
      try {
        await unpack(program, archive, folder, limits, { signal });
        const images = await readArchive(folder, architecture);
        const named = images.map((image) => {
          const names = name === undefined ? image.names : [name];
          if (names.length > 0) return { ...image, names: names.map((each) => parseReference(each).name) };
          throw new GeodeError('invalid_input', 'The image in the archive has no name.', {
            hint: 'Give it one.',
          });
        });
        for (const image of named) await keep(image, null, new Progress(), { signal });
        return named.flatMap(({ names }) => names);
      } finally {
        pulling -= 1;
        await rm(folder, { recursive: true, force: true });
      }
    },

    prune: ({ all = false } = {}) => (all ? removeUnused(collection) : collectNameless(collection)),

    async list(): Promise<readonly ListedImage[]> {
      const images = new Map<string, ListedImage>();
      const inUse = await usedIds();
      for (const record of await index.all()) {
        const before = images.get(record.id);
        images.set(record.id, {
          ...factsOf(record),
          pulledAt: before?.pulledAt ?? record.pulledAt,
          names: [...(before?.names ?? []), record.name],
          usedAt: Math.max(before?.usedAt ?? 0, await index.usedAt(record.name)),
          inUse: inUse.has(record.id),
        });
      }
      return [...images.values()];
    },

    async remove(name) {
      const record = await recordOf(name);
      if (record === undefined) return false;
      const all = await index.all();
      const isLast = all.filter(({ id }) => id === record.id).length === 1;
      if (isLast && (await usedIds()).has(record.id)) {
        throw new GeodeError('image_in_use', `The image ${record.name} is used by a sandbox.`);
      }
      await index.remove(record.name);
      if (!isLast) return true;
      await rm(rootOf(record.id), { recursive: true, force: true });
      await collectNameless(collection);
      return true;
    },
  };
}

function missing(name: string): GeodeError {
  return new GeodeError('image_missing', `The image ${name} is not in the store.`);
}

function factsOf({ id, digest, sizeBytes }: ImageRecord): ImageFacts {
  return { id, digest, sizeBytes };
}

async function manifestOf(
  repository: Repository,
  { name, version }: Reference,
  architecture: string,
  cancel: Cancel,
): Promise<{ readonly manifest: Manifest; readonly digest: string }> {
  const first = await repository.manifest(version, cancel);
  const found = readManifest(first.text, name, architecture);
  if ('manifest' in found) return { manifest: found.manifest, digest: first.digest };
  const second = readManifest((await repository.manifest(found.digest, cancel)).text, name, architecture);
  if ('manifest' in second) return { manifest: second.manifest, digest: first.digest };
  throw new GeodeError('pull_failed', `${name} is a nested list of images.`);
}

function envOf(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.flatMap((pair) => {
      const at = pair.indexOf('=');
      return at > 0 ? [[pair.slice(0, at), pair.slice(at + 1)]] : [];
    }),
  );
}

/** Progress of a pull, for its reader. */
class Progress {
  readonly #moved = new Notifier();
  #now: PullProgress = { receivedBytes: 0, totalBytes: 0, status: 'Downloading' };

  total(totalBytes: number): void {
    this.#set({ totalBytes });
  }

  received(bytes: number): void {
    this.#set({ receivedBytes: this.#now.receivedBytes + bytes });
  }

  status(status: string): void {
    this.#set({ status });
  }

  /** Each state that the reader sees, until the work has ended. */
  async *until(work: Promise<unknown>): AsyncGenerator<PullProgress> {
    let over = false;
    const end = () => {
      over = true;
      this.#moved.notify();
    };
    work.then(end, end);
    for (let last: PullProgress | undefined; !over; ) {
      if (last === this.#now) await this.#moved.next();
      last = this.#now;
      yield last;
    }
  }

  #set(change: Partial<PullProgress>): void {
    this.#now = { ...this.#now, ...change };
    this.#moved.notify();
  }
}
