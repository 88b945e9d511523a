/** The `docker` section of the config. */
export interface DockerOptions {
  /** `unix:///…`, `tcp://host:port` or `ssh://user@host`: Docker or Podman. */
  readonly host: string;
  /** PEM files; with them `tcp://` uses TLS. Without `ca` the system's authorities are trusted. */
  readonly tls?:
    | {
        readonly ca?: string | undefined;
        readonly cert?: string | undefined;
        readonly key?: string | undefined;
      }
    | undefined;
  /** A configuration file for ssh, in place of the user's own. */
  readonly sshConfig?: string | undefined;
  readonly defaultImage: string;
  /** runc, crun, runsc (gVisor), kata-…: the engine's name for it. Default: the engine's default. */
  readonly ociRuntime?: string | undefined;
  /** How the link is made; `auto` uses the socket if host and containers share a kernel. */
  readonly link: 'auto' | 'socket' | 'stdio';
}
