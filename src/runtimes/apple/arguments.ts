import { GeodeError } from '../../base/errors.ts';
import type { Mount } from '../../seams/sandbox.ts';
import type { SandboxUser } from '../accounts.ts';
import { type CheckedSpec, firstLeaseMs, workdir } from '../spec.ts';

export interface AppleRoom {
  readonly name: string;
  readonly image: string;
  readonly user: SandboxUser;
  readonly labels: Readonly<Record<string, string>>;
  /** Folder with the guest, because this program mounts folders only. */
  readonly guestFolder: string;
  readonly guestName: string;
  readonly workspace: string;
  readonly mounts: readonly Required<Mount>[];
}

export const guestFolder = '/.geode/bin';
export const socketPath = '/.geode/link/s';

/** `container run …`: options first, then the image, then its command. */
export function runArguments(room: AppleRoom, spec: CheckedSpec): readonly string[] {
  const { memoryBytes, cpus, openFiles } = spec.limits;
  const mounts = [
    { source: room.guestFolder, target: guestFolder, writable: false },
    { source: room.workspace, target: workdir, writable: true },
    ...room.mounts,
  ];
  return [
    ...['run', '--detach', '--progress', 'none', '--name', room.name, '--network', 'none'],
    ...['--user', `${room.user.uid}:${room.user.gid}`, '--workdir', workdir],
    ...(cpus == null ? [] : ['--cpus', String(wholeCpus(cpus))]),
    ...(memoryBytes == null ? [] : ['--memory', `${Math.ceil(memoryBytes / 1024 ** 2)}M`]),
    ...(openFiles == null ? [] : ['--ulimit', `nofile=${openFiles}:${openFiles}`]),
    ...Object.entries(room.labels).flatMap(([key, value]) => ['--label', `${key}=${value}`]),
    ...mounts.flatMap((mount) => ['--mount', mountArgument(mount)]),
    ...['--tmpfs', '/tmp', '--tmpfs', '/.geode/link'],
    ...['--entrypoint', `${guestFolder}/${room.guestName}`],
    room.image,
    ...['init', '--listen', socketPath, '--lease', String(firstLeaseMs)],
  ];
}

/** A virtual machine has whole processors only. */
export function wholeCpus(cpus: number): number {
  if (Number.isInteger(cpus)) return cpus;
  throw new GeodeError(
    'cannot_enforce',
    `The apple runtime cannot enforce limits.cpus: ${cpus} is not a whole number.`,
    {
      hint: 'Give its virtual machines whole CPUs: 1, 2, …',
    },
  );
}

function mountArgument({ source, target, writable }: Required<Mount>): string {
  const comma = [source, target].find((path) => path.includes(','));
  if (comma !== undefined) {
    throw new GeodeError(
      'mount_refused',
      `${JSON.stringify(comma)} contains a comma, which \`container --mount\` does not support.`,
    );
  }
  return `type=bind,source=${source},target=${target}${writable ? '' : ',readonly'}`;
}
