import type { Cancel } from '../base/cancel.ts';
import type { PersistentSandbox } from '../seams/persistent.ts';

/** A TCP port that a process of the sandbox's user listens on. */
export interface ListeningPort {
  readonly port: number;
  readonly pid: number;
  readonly process: string;
}

/** Three tables of the kernel, as a sandbox's user sees them. */
const script = `cat /proc/net/tcp /proc/net/tcp6 2>/dev/null
ls -l /proc/[0-9]*/fd 2>/dev/null
grep -s . /proc/[0-9]*/comm
true`;

/** Without those of the guest, whose descriptors the user cannot read. Sorted by port. */
export async function listeningPorts(
  sandbox: Pick<PersistentSandbox, 'exec'>,
  { signal }: Cancel = {},
): Promise<readonly ListeningPort[]> {
  const { stdout } = await sandbox.exec({ argv: ['sh', '-c', script], timeoutMs: 10_000 }, { signal });
  return portsIn(stdout);
}

/** The output is the sandbox's own: anything may stand in it, and every part is parsed. */
function portsIn(text: string): readonly ListeningPort[] {
  const inodes = new Map<string, number>();
  const names = new Map<number, string>();
  const owners = new Map<string, number>();
  let pid = 0;
  for (const line of text.split('\n')) {
    const [, address, inode] =
      /^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) \S+ 0A(?: +\S+){5} +(\d+)\b/.exec(line) ?? [];
    if (address !== undefined && inode !== undefined) inodes.set(inode, Number.parseInt(address, 16));
    pid = Number(/^\/proc\/(\d{1,10})\/fd:$/.exec(line)?.[1] ?? pid);
    const [, socket] = / -> socket:\[(\d+)\]$/.exec(line) ?? [];
    if (socket !== undefined && !owners.has(socket)) owners.set(socket, pid);
    const [, owner, name] = /^\/proc\/(\d{1,10})\/comm:(.*)$/.exec(line) ?? [];
    if (owner !== undefined && name !== undefined) names.set(Number(owner), name);
  }
  const found = [...inodes].flatMap(([inode, port]) => {
    const owner = owners.get(inode);
    return owner === undefined ? [] : [{ port, pid: owner, process: names.get(owner) ?? '' }];
  });
  const byPort = new Map(found.map((each) => [each.port, each]));
  return [...byPort.values()].toSorted((a, b) => a.port - b.port);
}
