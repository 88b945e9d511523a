import type { Cancel } from './cancel.ts';

/** An image that is on the runtime's machine. */
export interface ImageFacts {
  /** What the runtime itself calls it: the digest of its content, which no later pull changes. */
  readonly id: string;
  /** What its registry calls it, `sha256:…`; null for one that was made here. */
  readonly digest: string | null;
}

/** How far a pull is. Bytes are of what is known so far: the total grows while layers are announced. */
export interface PullProgress {
  readonly receivedBytes: number;
  readonly totalBytes: number;
  /** What the engine says it is doing: "Downloading", "Extracting". */
  readonly status: string;
}

/** The images of a runtime that runs images. A name is always one with a tag or a digest. */
export interface Images {
  /** Undefined when the image is not here; nothing is fetched. */
  find(name: string, options?: Cancel): Promise<ImageFacts | undefined>;
  /**
   * Fetches an image and says how far it is until it is here. `image_missing` when the registry does not
   * have it, `pull_failed` with the engine's words otherwise. Leaving the loop or a cancel stops the pull.
   */
  pull(name: string, options?: Cancel): AsyncIterable<PullProgress>;
}
