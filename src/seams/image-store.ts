import type { Readable } from 'node:stream';
import type { Cancel } from '../base/cancel.ts';
import type { ImageFacts, Images } from './images.ts';

/** An image whose layers are unpacked and merged on this machine. */
export interface StoredImage extends ImageFacts {
  /** Its root file system, read-only because other images share its files. */
  readonly root: string;
  /** Environment variables that the image defines. */
  readonly env: Readonly<Record<string, string>>;
}

/** Images that Geode pulls and stores itself, without a container engine. */
export interface ImageStore extends Images {
  /** By name or id. Throws `image_missing` if it is not in the store; never pulls. */
  open(name: string, options?: Cancel): Promise<StoredImage>;
  /**
   * Loads the images of an archive: from `docker save`, or an OCI layout in a tar file. `name` is for an image
   * without one. Returns the names that are now in the store.
   */
  load(archive: Readable, options?: { readonly name?: string } & Cancel): Promise<readonly string[]>;
  /** Every image in the store with its names, newest first. */
  list(): Promise<readonly ListedImage[]>;
  /**
   * Removes a name, and the files with an image's last name; layers shared with other images stay. Returns false if
   * the name is not in the store. Throws `image_in_use` while a sandbox uses the image.
   */
  remove(name: string): Promise<boolean>;
  /**
   * Writes an image as an OCI layout in a tar archive for `docker load` and `load`. Its layers are packed again, so
   * their digests differ from the registry's. Throws `image_missing` if it is not in the store.
   */
  save(name: string, options?: Cancel): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Frees everything without a name: replaced images, unused layers, drafts of killed hosts. With `all`, also every
   * image that no sandbox uses.
   */
  prune(options?: { readonly all?: boolean } & Cancel): Promise<Pruned>;
}

export interface ListedImage extends ImageFacts {
  readonly names: readonly string[];
  /** Milliseconds since the epoch. */
  readonly pulledAt: number;
  /** When a sandbox last used it, or when it was pulled. */
  readonly usedAt: number;
  /** Whether a sandbox uses it. */
  readonly inUse: boolean;
}

export interface Pruned {
  /** The removed names. */
  readonly removed: readonly string[];
  /** Unpacked size of the removed layers. */
  readonly freedBytes: number;
}
