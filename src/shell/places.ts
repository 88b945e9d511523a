import type { ShellPolicy } from '../seams/shell-policy.ts';
import { isGlob, matchesGlob } from './glob.ts';
import type { Path } from './paths.ts';
import { covers, isAt, isBelow, mentions, type ProtectedPath, readPlace, readPlaces } from './place.ts';

/** The protected paths, and the questions that rules ask about a path. */
type Folders = Required<Pick<ShellPolicy, 'home' | 'workspace'>>;

const homesEverywhere = readPlaces('/root /home/* /Users/*');

const systemFolders = readPlaces(
  '/bin /boot /dev /etc /home /lib /lib32 /lib64 /libx32 /proc /root /run /sbin /sys /usr /var /Users ' +
    '/usr/bin /usr/sbin /usr/lib /usr/lib64 /usr/libexec /usr/share /var/lib /System /Library /Applications',
);

const accountFiles = readPlaces(
  '/etc/passwd /etc/group /etc/sudoers /etc/fstab /bin/sh /bin/bash /usr/bin/env',
);

const keyFiles = readPlaces(
  '/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/geode/** /proc/*/environ /proc/*/task/*/environ',
);

const keyFilesOfHome = readPlaces(
  '.ssh/** .aws/** .azure/** .kube/** .gnupg/** .netrc .git-credentials .npmrc .pypirc .docker/config.json ' +
    '.config/gcloud/** .config/gh/** .config/geode/** .geode/**',
);

/** In a folder of keys, but meant to be public. */
const publicName = /(?:\.pub|^known_hosts(?:\.old)?)$/;

const ownConfigName = 'geode.json';

const deviceName =
  /^(?:(?:sd|hd|vd|xvd)[a-z]+\d*|nvme\d+(?:n\d+(?:p\d+)?)?|mmcblk\d+\w*|dm-\d+|md\d+|r?disk\d+\w*|k?mem|port)$/;
const deviceSamples = 'sda sda1 sdb hda vda xvda nvme0n1 mmcblk0 dm-0 md0 mem'.split(' ');

/** The data that is lost if this whole path is removed or locked; undefined if none. */
export function criticalPlace(path: Path, folders: Folders): string | undefined {
  if (!path.rooted || isWorkspace(path, folders)) return undefined;
  const system = systemFolders.find((place) => covers(path, place));
  const isInRoot = path.parts.length === 1 && isGlob(path.parts[0] ?? '');
  if (path.parts.length === 0 || (isInRoot && system !== undefined)) return 'the root folder';
  if (homes(folders).some((home) => covers(path, home))) return 'a home folder';
  return system && `the system folder ${system.name}`;
}

/** The account or start-up file that this path is; undefined if it is not one. */
export function accountFile(path: Path): string | undefined {
  return accountFiles.find((place) => isAt(path, place))?.name;
}

/** True if the path is a block device, physical memory or the kernel's command file. */
export function isDevice(path: Path): boolean {
  if (!path.rooted) return false;
  const [top = '', name = ''] = path.parts;
  if (matchesGlob(top, 'proc') && matchesGlob(name, 'sysrq-trigger')) return true;
  if (!matchesGlob(top, 'dev')) return false;
  if (isGlob(name)) return deviceSamples.some((sample) => matchesGlob(name, sample));
  if (/^(?:mapper|disk|block)$/.test(name)) return path.parts.length > 2;
  return path.parts.length === 2 && deviceName.test(name);
}

/** The key file or key folder that this path may be; undefined if it is not one. */
export function keyFile(path: Path, folders: Folders): string | undefined {
  const last = path.parts.at(-1) ?? '';
  if (last === ownConfigName) return ownConfigName;
  const system = keyFiles.find((place) => isAt(path, place));
  if (system !== undefined) return system.name;
  const own = keyFilesOfHome.find((place) =>
    path.rooted ? homes(folders).some((home) => isBelow(path, home, place)) : mentions(path, place),
  );
  if (own === undefined || (own.name === '.ssh' && publicName.test(last))) return undefined;
  return `~/${own.name}`;
}

/** True if key files lie in this folder: copying the folder copies them. */
export function holdsKeyFiles(path: Path, folders: Folders): boolean {
  if (!path.rooted || isWorkspace(path, folders)) return false;
  return path.parts.length === 0 || isAt(path, etc) || homes(folders).some((home) => covers(path, home));
}

const etc = readPlace('/etc');

function homes({ home }: Folders): ProtectedPath[] {
  return [readPlace(home), ...homesEverywhere];
}

function isWorkspace(path: Path, { workspace }: Folders): boolean {
  const { parts } = readPlace(workspace);
  return parts.length > 0 && parts.every((part, index) => path.parts[index] === part);
}
