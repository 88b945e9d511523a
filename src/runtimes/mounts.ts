import { lstat, realpath } from 'node:fs/promises';
import { isAbsolute, join, normalize, sep } from 'node:path';
import { GeodeError } from '../base/errors.ts';
import type { Mount } from '../seams/sandbox.ts';
import { replaceablePart } from './replaceable-path.ts';

export interface MountPolicy {
  /** Folders below which mounts are allowed. Empty: no mounts. */
  readonly roots: readonly string[];
  /** Roots below which a mount may be writable. */
  readonly writableRoots: readonly string[];
  /** The homes whose secrets must not be mounted, even below an allowed root. */
  readonly homes: readonly string[];
  /** Geode's own folders and files, also forbidden: records, sockets, config, memory, keys. */
  readonly own?: readonly string[];
}

/** Folders of any home folder that may not be mounted. */
const secretNames = ['.ssh', '.aws', '.gnupg', '.kube', '.docker'];
/** Below the homes of the policy. */
const secretPaths = [...secretNames, '.config/geode', '.config/gcloud', '.netrc'];
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
/** Folders of the sandbox's own machinery and programs. */
const reservedTargets = [
  ...['/.geode', '/workspace', '/proc', '/sys', '/dev', '/tmp', '/var/tmp'],
  ...['/etc', '/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'],
];

/**
 * The mounts with their real paths. Throws for the first forbidden one. Only root and this user can redirect such a
 * path between the check and the mount.
 */
export async function checkMounts(
  mounts: readonly Mount[],
  policy: MountPolicy,
  uid = process.getuid?.() ?? 0,
): Promise<readonly Required<Mount>[]> {
  return Promise.all(mounts.map((mount) => checkMount(mount, policy, uid)));
}

async function checkMount(mount: Mount, policy: MountPolicy, uid: number): Promise<Required<Mount>> {
  const refuse = (why: string): never => {
    throw new GeodeError(
      'mount_refused',
      `The mount of ${JSON.stringify(mount.source)} was refused: ${why}.`,
    );
  };
  const gone = () => refuse('it does not exist on the host');
  if (!isAbsolute(mount.source) || !isAbsolute(mount.target)) refuse('both paths must be absolute');
  if (mount.source.includes('\0') || mount.target.includes('\0')) refuse('a path contains a NUL byte');
  const target = normalize(mount.target).replace(/(.)\/$/, '$1');
  if (reservedTargets.some((reserved) => overlaps(target, reserved)))
    refuse(`${target} belongs to the sandbox itself`);

  const source = await realpath(mount.source).catch(gone);
  if (source === '/') refuse('it is the whole host');
  const weak = await replaceablePart(source, uid).catch(gone);
  if (weak !== undefined)
    refuse(`others may write to ${weak} and could replace it with a link (chown it, or chmod go-w)`);
  const facts = await lstat(source).catch(gone);
  if (!facts.isDirectory() && !facts.isFile()) refuse('it is a socket or a device, not a folder or file');

  const shown = (await outOfBounds(policy)).find((path) => overlaps(source, path));
  if (shown !== undefined) refuse(`it is in ${shown} or contains it, which is forbidden`);
  const secret = source.split(sep).find((part) => secretNames.includes(part));
  if (secret !== undefined) refuse(`it is below a folder named ${secret}`);
  const isHome = await lstat(join(source, '.ssh')).catch(() => undefined);
  if (isHome !== undefined) refuse('it contains a folder named .ssh');

  if (!(await anyRootAbove(source, policy.roots)))
    refuse(`it is not below one of the allowed roots (${policy.roots.join(', ') || 'none are set'})`);
  const writable = mount.writable ?? false;
  if (writable && !(await anyRootAbove(source, policy.writableRoots)))
    refuse('it may only be mounted read-only');
  return { source, target, writable };
}

/** Checked as written and as resolved, because a link may lead to a home or a secret in it. */
async function outOfBounds({ homes, own = [] }: MountPolicy): Promise<readonly string[]> {
  const everyHome = [...homes, ...(await realPaths(homes))];
  const secrets = everyHome.flatMap((home) => secretPaths.map((name) => join(home, name)));
  const paths = [...systemFolders, ...own, ...secrets];
  return [...paths, ...(await realPaths(paths))];
}

async function anyRootAbove(source: string, roots: readonly string[]): Promise<boolean> {
  const real = await realPaths(roots);
  return real.some((root) => root !== '/' && (source === root || isBelow(source, root)));
}

/** The real paths of the existing ones. */
async function realPaths(paths: readonly string[]): Promise<readonly string[]> {
  const real = await Promise.all(paths.map((path) => realpath(path).catch(() => [])));
  return real.flat();
}

function overlaps(one: string, other: string): boolean {
  return one === other || isBelow(one, other) || isBelow(other, one);
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
