import type { Readable } from 'node:stream';
import type { Cancel } from '../base/cancel.ts';
import type { ImageFacts, Images } from './images.ts';

/** An image whose layers are unpacked and merged on this machine. */
export interface StoredImage extends ImageFacts {
  /** Its root file system. Read-only: its files are shared with other images. */
  readonly root: string;
  /** The environment that the image gives its programs. */
  readonly env: Readonly<Record<string, string>>;
}

/** Images that Geode itself pulls and keeps, without a container engine. */
export interface ImageStore extends Images {
  /** By name or by id. `image_missing` when it is not in the store; nothing is fetched. */
  open(name: string, options?: Cancel): Promise<StoredImage>;
  /**
   * Takes in the images of an archive: of `docker save`, or an OCI layout in a tar file. `name` is for an image
   * without one. Returns the names that are in the store now.
   */
  load(archive: Readable, options?: { readonly name?: string } & Cancel): Promise<readonly string[]>;
  /** Every image in the store with its names, the newest first. */
  list(): Promise<readonly ListedImage[]>;
  /**
   * Takes a name away. The files go with the last name of an image; layers that other images share stay. False when
   * the name is not in the store; `image_in_use` while a sandbox was made of the image.
   */
  remove(name: string): Promise<boolean>;
  /**
   * Writes an image as an OCI layout in a tar archive, which `docker load` and `load` take. Its layers are packed again,
   * so their digests differ from those of the registry. `image_missing` when it is not in the store.
   */
  save(name: string, options?: Cancel): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Frees what no name shows any more: replaced images, shared layers, drafts of killed hosts. With `all`, also every
   * image that no sandbox was made of.
   */
  prune(options?: { readonly all?: boolean } & Cancel): Promise<Pruned>;
}

export interface ListedImage extends ImageFacts {
  readonly names: readonly string[];
  /** Milliseconds since the epoch. */
  readonly pulledAt: number;
  /** When a sandbox was last made of it, or when it was pulled. */
  readonly usedAt: number;
  /** A sandbox was made of it. */
  readonly inUse: boolean;
}

export interface Pruned {
  /** The names that are gone. */
  readonly removed: readonly string[];
  /** Unpacked size of the removed layers. */
  readonly freedBytes: number;
}
