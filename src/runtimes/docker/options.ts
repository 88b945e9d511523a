/** The `docker` section of the config. */
export interface DockerOptions {
  /** `unix:///…`, `tcp://host:port` or `ssh://user@host`: Docker or Podman. */
  readonly host: string;
  readonly defaultImage: string;
  /** runc, crun, runsc (gVisor), kata-…: as the engine knows it. Left out: the engine's default. */
  readonly ociRuntime?: string | undefined;
  /** How the link is made; `auto` takes the socket where host and containers share a kernel. */
  readonly link: 'auto' | 'socket' | 'stdio';
}
