/** The available test engines. Plain values, so that other processes can get them as JSON. */
export interface EngineFacts {
  readonly docker: ContainerEngine | Unavailable;
  readonly podman: ContainerEngine | Unavailable;
  readonly bubblewrap: { readonly available: true; readonly path: string } | Unavailable;
  readonly registry: { readonly available: true } | Unavailable;
  /** The programs to log in from here to here. */
  readonly ssh: { readonly available: true } | Unavailable;
  /** Compilers and plotting libraries on the machine itself, for the runtimes that show it to a sandbox. */
  readonly toolchains: { readonly available: true } | Unavailable;
  /** Debian's PostgreSQL server, which tests start for themselves. */
  readonly postgres: { readonly available: true } | Unavailable;
}

/** An engine that answers Docker's API and has the usual test images. */
export interface ContainerEngine {
  readonly available: true;
  readonly socket: string;
  readonly version: string;
  /** Possible OCI runtimes, for instance runc and crun. */
  readonly ociRuntimes: readonly string[];
  /** Whether an inspected container says `OOMKilled` after the memory limit struck. */
  readonly reportsOomKills: boolean;
}

export interface Unavailable {
  readonly available: false;
  /** Why not, in words for the summary of a test run. */
  readonly reason: string;
}
