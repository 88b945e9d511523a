import type { Cancel } from '../base/cancel.ts';

/** An image that is on the runtime's machine. */
export interface ImageFacts {
  /** The runtime's own id: the digest of the content, which no later pull changes. */
  readonly id: string;
  /** The registry's digest, `sha256:…`; null for an image built here. */
  readonly digest: string | null;
  readonly sizeBytes: number;
}

/** How far a pull is. Bytes are of what is known so far: the total grows while layers are announced. */
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
  /** `fresh`: do every step again, also one that the engine has done before. */
  readonly steps: 'cached' | 'fresh';
}

export type BuildProgress =
  | {
      readonly type: 'build-step';
      readonly step: number;
      readonly steps: number;
      readonly instruction: string;
    }
  /** One line, without colours and cut to a bounded length. */
  | { readonly type: 'build-output'; readonly line: string };

/** Left out by a runtime that cannot build. */
export interface ImageBuilds {
  /**
   * Builds an image and gives it the name. `build_failed` with the end of the output when a step fails, `disk_full`
   * when the engine has no room. Leaving the loop or a cancel stops the build; nothing gets the name then.
   */
  build(name: string, context: BuildContext, options?: Cancel): AsyncIterable<BuildProgress>;
  /** Takes the name away, and what nothing else uses of the image. False when it was not here; `image_in_use` while a sandbox has it. */
  remove(name: string, options?: Cancel): Promise<boolean>;
}

/** The images of a runtime that runs images. A name is always one with a tag or a digest. */
export interface Images {
  readonly builds?: ImageBuilds;
  /** Undefined when the image is not here; nothing is fetched. */
  find(name: string, options?: Cancel): Promise<ImageFacts | undefined>;
  /**
   * Fetches an image and says how far it is until it is here. `image_missing` when the registry does not
   * have it, `pull_failed` with the engine's words otherwise. Leaving the loop or a cancel stops the pull.
   */
  pull(name: string, options?: Cancel): AsyncIterable<PullProgress>;
}

/** From the smallest to the largest; each is built on the one before. */
export const builtImageNames = ['base', 'agent', 'full'] as const;
export type BuiltImageName = (typeof builtImageNames)[number];

/** An image that this host built, as the ledger has it. */
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
  /** Null when the engine does not have it any more, or cannot be asked. */
  readonly sizeBytes: number | null;
}

export interface BuildRequest extends Cancel {
  readonly name: BuiltImageName;
  /** The image at the bottom of all: Debian, or what is made of it. The config's `images.from` by default. */
  readonly from?: string | undefined;
  readonly steps?: BuildContext['steps'] | undefined;
}

/** Which image is being built: `agent` is built after `base`. */
export type BuildEvent = { readonly image: string } & (
  | BuildProgress
  | ({ readonly type: 'pull-progress' } & PullProgress)
);

/** Geode's own images: their recipes are part of Geode, the engine builds them. */
export interface BuiltImages {
  /** One build at a time; others wait. Leaving the loop or a cancel ends it. */
  build(user: string, request: BuildRequest): AsyncGenerator<BuildEvent, BuiltImage>;
  list(options?: Cancel): Promise<readonly BuiltImage[]>;
  /** False when it was not built here: no error. */
  remove(user: string, name: BuiltImageName, options?: Cancel): Promise<boolean>;
}
