import { realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, normalize, sep } from 'node:path';
import { GeodeError } from '../core/errors.ts';
import type { Mount } from '../core/sandbox.ts';

export interface MountPolicy {
  /** Folders below which mounts are allowed. Empty: none are. */
  readonly roots: readonly string[];
  /** Roots below which a mount may be writable. */
  readonly writableRoots: readonly string[];
  /** The homes whose secrets are out of bounds even below an allowed root. */
  readonly homes: readonly string[];
}

const secretFolders = [
  '.ssh',
  '.aws',
  '.gnupg',
  '.kube',
  '.docker',
  '.config/geode',
  '.config/gcloud',
  '.netrc',
];
const systemFolders = [
  '/proc',
  '/sys',
  '/dev',
  '/run',
  '/var/run',
  '/boot',
  '/etc',
  '/var/lib/docker',
  '/var/lib/containers',
];
/** Where the sandbox's own machinery lives. */
const reservedTargets = ['/', '/.geode', '/workspace', '/proc', '/sys', '/dev'];

/** The mounts with their real paths, all allowed; the first that is not is refused with its reason. */
export async function checkMounts(
  mounts: readonly Mount[],
  policy: MountPolicy,
): Promise<readonly Required<Mount>[]> {
  return Promise.all(mounts.map((mount) => checkMount(mount, policy)));
}

async function checkMount(mount: Mount, policy: MountPolicy): Promise<Required<Mount>> {
  const refuse = (why: string): never => {
    throw new GeodeError(
      'mount_refused',
      `The mount of ${JSON.stringify(mount.source)} was refused: ${why}.`,
    );
  };
  const target = normalize(mount.target).replace(/(.)\/$/, '$1');
  if (!isAbsolute(mount.source) || !isAbsolute(mount.target)) refuse('both paths must be absolute');
  if (mount.source.includes('\0') || mount.target.includes('\0')) refuse('a path holds a NUL byte');
  if (
    reservedTargets.some((reserved) => target === reserved || (reserved !== '/' && isBelow(target, reserved)))
  ) {
    refuse(`${target} belongs to the sandbox itself`);
  }
  const source = await realpath(mount.source).catch(() => refuse('it does not exist on the host'));
  if (source === '/') refuse('it is the whole host');
  const facts = await stat(source);
  if (!facts.isDirectory() && !facts.isFile()) refuse('it is a socket or a device, not a folder or file');
  const system = systemFolders.find((folder) => source === folder || isBelow(source, folder));
  if (system !== undefined) refuse(`${system} holds the host's own machinery`);
  for (const home of policy.homes) {
    const secret = secretFolders.map((name) => join(home, name)).find((path) => overlaps(source, path));
    if (secret !== undefined) refuse(`it would show ${secret}`);
  }
  const allowed = await anyRootAbove(source, policy.roots);
  if (!allowed)
    refuse(`it is not below one of the allowed roots (${policy.roots.join(', ') || 'none are set'})`);
  const writable = mount.writable ?? false;
  if (writable && !(await anyRootAbove(source, policy.writableRoots)))
    refuse('it may only be mounted read-only');
  return { source, target, writable };
}

async function anyRootAbove(source: string, roots: readonly string[]): Promise<boolean> {
  const real = await Promise.all(roots.map((root) => realpath(root).catch(() => undefined)));
  return real.some(
    (root) => root !== undefined && root !== '/' && (source === root || isBelow(source, root)),
  );
}

function overlaps(source: string, secret: string): boolean {
  return source === secret || isBelow(source, secret) || isBelow(secret, source);
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
