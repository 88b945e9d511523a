/** The `docker` section of the config. */
export interface DockerOptions {
  /** `unix:///…`, `tcp://host:port` or `ssh://user@host`: Docker or Podman. */
  readonly host: string;
  /** Files in PEM; with them, `tcp://` is TLS. Without `ca` the system's authorities count. */
  readonly tls?:
    | {
        readonly ca?: string | undefined;
        readonly cert?: string | undefined;
        readonly key?: string | undefined;
      }
    | undefined;
  /** A configuration file for ssh, instead of the user's own. */
  readonly sshConfig?: string | undefined;
  readonly defaultImage: string;
  /** runc, crun, runsc (gVisor), kata-…: as the engine knows it. Left out: the engine's default. */
  readonly ociRuntime?: string | undefined;
  /** How the link is made; `auto` takes the socket where host and containers share a kernel. */
  readonly link: 'auto' | 'socket' | 'stdio';
}
