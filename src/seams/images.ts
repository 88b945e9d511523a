import type { Cancel } from '../base/cancel.ts';

/** An image on the runtime's machine. */
export interface ImageFacts {
  /** The runtime's own id: the digest of the content. A later pull does not change it. */
  readonly id: string;
  /** The registry's digest, `sha256:…`; null for an image built here. */
  readonly digest: string | null;
  readonly sizeBytes: number;
}

/** Progress of a pull. The total grows while layers are announced. */
export interface PullProgress {
  readonly receivedBytes: number;
  readonly totalBytes: number;
  /** The engine's current step: "Downloading", "Extracting". */
  readonly status: string;
}

/** The input of a build: the files of its context, with `Dockerfile` among them, and the values of its `ARG`s. */
export interface BuildContext {
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly args: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  /** The network of the build steps: the engine's default, or the machine's. */
  readonly network: 'default' | 'host';
  /** `fresh`: run every step again, without the engine's cache. */
  readonly steps: 'cached' | 'fresh';
}

export type BuildProgress =
  | {
      readonly type: 'build-step';
      readonly step: number;
      readonly steps: number;
      readonly instruction: string;
    }
  /** One line, without colours and shortened to a limit. */
  | { readonly type: 'build-output'; readonly line: string };

/** Missing in a runtime that cannot build. */
export interface ImageBuilds {
  /**
   * Builds an image and names it. Throws `build_failed` with the end of the output when a step fails, `disk_full`
   * when the engine has no space. Leaving the loop or a cancel stops the build, and nothing gets the name.
   */
  build(name: string, context: BuildContext, options?: Cancel): AsyncIterable<BuildProgress>;
  /**
   * Removes the name, and the parts of the image that nothing else uses. Returns false if it was not here. Throws
   * `image_in_use` while a sandbox uses it.
   */
  remove(name: string, options?: Cancel): Promise<boolean>;
}

/** The images of a runtime that runs images. A name always has a tag or a digest. */
export interface Images {
  readonly builds?: ImageBuilds;
  /** Undefined if the image is not here; never pulls. */
  find(name: string, options?: Cancel): Promise<ImageFacts | undefined>;
  /**
   * Pulls an image and yields the progress. Throws `image_missing` if the registry does not have it, otherwise
   * `pull_failed` with the engine's reason. Leaving the loop or a cancel stops the pull.
   */
  pull(name: string, options?: Cancel): AsyncIterable<PullProgress>;
}

/** From the smallest to the largest; each is built on the previous one. */
export const builtImageNames = ['base', 'agent', 'full'] as const;
export type BuiltImageName = (typeof builtImageNames)[number];

/** An image that this host built, as stored in the ledger. */
export interface BuiltImage {
  readonly name: BuiltImageName;
  /** The name to use for a sandbox: `localhost/geode/agent:0.2.0`. */
  readonly image: string;
  /** The digest of its content. */
  readonly id: string;
  /** The base image by name, and its digest. */
  readonly from: string;
  readonly fromId: string;
  readonly builtAt: number;
  readonly builtBy: string;
  /** Null if the engine no longer has it or cannot be asked. */
  readonly sizeBytes: number | null;
}

export interface BuildRequest extends Cancel {
  readonly name: BuiltImageName;
  /** The lowest base image: Debian or an image made from it. Default: the config's `images.from`. */
  readonly from?: string | undefined;
  readonly steps?: BuildContext['steps'] | undefined;
}

/** The image being built: `agent` is built after `base`. */
export type BuildEvent = { readonly image: string } & (
  | BuildProgress
  | ({ readonly type: 'pull-progress' } & PullProgress)
);

/** Geode's own images. Their recipes are part of Geode; the engine builds them. */
export interface BuiltImages {
  /** One build at a time; others wait. Leaving the loop or a cancel stops it. */
  build(user: string, request: BuildRequest): AsyncGenerator<BuildEvent, BuiltImage>;
  list(options?: Cancel): Promise<readonly BuiltImage[]>;
  /** Returns false if it was not built here. */
  remove(user: string, name: BuiltImageName, options?: Cancel): Promise<boolean>;
}
