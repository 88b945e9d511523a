/** The attacks tried from inside a sandbox, as shell scripts. They do no harm even if they succeed. */
import type { Limits } from '../../seams/limits.ts';

export const attackKinds = ['break-out', 'exhaustion', 'egress'] as const;
type AttackKind = (typeof attackKinds)[number];

export interface Attack {
  readonly kind: AttackKind;
  readonly name: string;
  readonly script: string;
  /** Where success shows: in the output of the attempt, or on the host, which `Targets` checks. */
  readonly sign: 'printed' | 'written' | 'killed' | 'tcp' | 'udp';
  /** Says nothing where this machine has no such thing. */
  readonly needs?: 'ENGINE';
}

/** Small limits, so that exceeding them is harmless on a machine without isolation. */
export const attackLimits = {
  memoryBytes: 128 * 1024 ** 2,
  pids: 64,
  diskBytes: 32 * 1024 ** 2,
} as const satisfies Limits;

const beyond = { bytes: 256 * 1024 ** 2, processes: 128, diskBytes: 64 * 1024 ** 2 };

/** Connects with any available program. Prints why the last one failed. */
const connect = (address: string) => `
  host=${address}
  if command -v wget >/dev/null; then wget -T 3 -O - "http://$host:$PORT/"
  elif command -v curl >/dev/null; then curl -sS -m 3 "http://$host:$PORT/"
  elif command -v bash >/dev/null; then bash -c "exec 3<>/dev/tcp/$host/$PORT"
  else nc -w 3 "$host" "$PORT" </dev/null; fi`;

/** `$PROOF` is printed by what got through; `$FOLDER` is a folder of the host that everyone may read. */
export const attempts: readonly Attack[] = [
  {
    kind: 'break-out',
    name: 'read a file of the host',
    script: 'cat "$FOLDER/proof"',
    sign: 'printed',
  },
  {
    kind: 'break-out',
    name: "read it through another process's root",
    script:
      'for root in /proc/[0-9]*/root; do cat "$root$FOLDER/proof" 2>/dev/null; done; cat "/proc/1/root$FOLDER/proof"',
    sign: 'printed',
  },
  {
    kind: 'break-out',
    name: 'write a file of the host',
    script: 'echo here > "$FOLDER/open/written"',
    sign: 'written',
  },
  {
    kind: 'break-out',
    name: 'see the processes of the host',
    script:
      'for each in /proc/[0-9]*/cmdline; do tr "\\\\0" " " 2>/dev/null < "$each" | grep -q "[v]ictim-$MARK" && echo "$PROOF" && exit; done; echo "no such process among $(ls -d /proc/[0-9]* | wc -l)" >&2',
    sign: 'printed',
  },
  { kind: 'break-out', name: 'kill a process of the host', script: 'kill -9 "$VICTIM"', sign: 'killed' },
  {
    kind: 'break-out',
    name: 'mount a file system',
    script: 'mkdir -p mountpoint && mount -t tmpfs none mountpoint && umount mountpoint && echo "$PROOF"',
    sign: 'printed',
  },
  {
    kind: 'break-out',
    name: 'become root in namespaces of its own',
    script: 'unshare -U -r -m true && echo "$PROOF"',
    sign: 'printed',
  },
  {
    kind: 'break-out',
    name: "open the kernel's settings for writing",
    script: '( : >> /proc/sys/kernel/core_pattern ) && echo "$PROOF"',
    sign: 'printed',
  },
  {
    kind: 'break-out',
    name: 'read a disk as a device',
    script:
      'for each in /dev/sd? /dev/vd? /dev/nvme?n? /dev/loop0; do [ -b "$each" ] && head -c 1 "$each" >/dev/null && echo "$PROOF" && exit; done; echo "no such device" >&2',
    sign: 'printed',
  },
  {
    kind: 'break-out',
    name: "speak to the container engine's socket",
    script: 'ls "$ENGINE" >/dev/null && [ -S "$ENGINE" ] && [ -w "$ENGINE" ] && echo "$PROOF"',
    sign: 'printed',
    needs: 'ENGINE',
  },
  {
    kind: 'exhaustion',
    name: 'take more memory than the limit',
    script: `head -c ${beyond.bytes} /dev/zero | tail -n 1 >/dev/null && echo "$PROOF"`,
    sign: 'printed',
  },
  {
    kind: 'exhaustion',
    name: 'start more processes than the limit',
    script: `i=0; while [ $i -lt ${beyond.processes} ]; do sleep 5 & i=$((i+1)); done; echo "$PROOF"`,
    sign: 'printed',
  },
  {
    kind: 'exhaustion',
    name: 'fill the disk',
    script: `head -c ${beyond.diskBytes} /dev/zero > filled && echo "$PROOF"; rm -f filled`,
    sign: 'printed',
  },
  { kind: 'egress', name: "connect to the host's loopback", script: connect('127.0.0.1'), sign: 'tcp' },
  { kind: 'egress', name: "connect to the host's own address", script: connect('"$ADDRESS"'), sign: 'tcp' },
  {
    kind: 'egress',
    name: 'send a datagram, as a DNS tunnel does',
    script:
      'if command -v bash >/dev/null; then bash -c "echo here > /dev/udp/$ADDRESS/$UDP_PORT"; else echo here | nc -u -w 1 "$ADDRESS" "$UDP_PORT"; fi',
    sign: 'udp',
  },
];
