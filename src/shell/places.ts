import { isGlob, isWideGlob, matchesGlob } from './glob.ts';
import type { Path } from './paths.ts';
import { pathOf } from './paths.ts';
import type { ShellPolicy } from './policy.ts';

import { hasUnknown } from './unknowns.ts';

/** Where a sandbox keeps things. */
type Folders = Required<Pick<ShellPolicy, 'home' | 'workspace'>>;

/**
 * The places that the rules protect. In these tables `*` stands for any one part of a path and a trailing
 * `**` for anything below.
 */
const systemFolders = (
  '/bin /boot /dev /etc /home /lib /lib32 /lib64 /libx32 /proc /root /run /sbin /sys /usr /var /Users ' +
  '/usr/bin /usr/sbin /usr/lib /usr/lib64 /usr/libexec /usr/share /var/lib /System /Library /Applications'
).split(' ');

const accountFiles = [
  '/etc/passwd',
  '/etc/group',
  '/etc/sudoers',
  '/etc/fstab',
  '/bin/sh',
  '/bin/bash',
  '/usr/bin/env',
];

const keyFiles =
  '/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/geode/** /proc/*/environ /proc/*/task/*/environ'.split(
    ' ',
  );

const keyFilesOfHome = (
  '.ssh/** .aws/** .azure/** .kube/** .gnupg/** .netrc .git-credentials .npmrc .pypirc .docker/config.json ' +
  '.config/gcloud/** .config/gh/** .config/geode/** .geode/**'
).split(' ');

/** In a key folder, yet meant to be given away. */
const publicNames = /(?:\.pub|^known_hosts(?:\.old)?)$/;

const ownConfigName = 'geode.json';

/** Why removing or locking this path destroys the system, or `undefined`. */
export function vitalPlace(path: Path, policy: Folders): string | undefined {
  if (!path.rooted || isWorkspace(path, policy)) return undefined;
  const { parts } = path;
  if (parts.length === 0) return 'the root folder';
  if (homes(policy).some((home) => covers(path, home))) return 'a home folder';
  const system = systemFolders.find((place) => covers(path, place));
  if (system !== undefined)
    return parts.length === 1 && isGlob(parts[0] ?? '') ? 'the root folder' : `the system folder ${system}`;
  return undefined;
}

/** The account or start-up file that this path is, or `undefined`. */
export function accountFile(path: Path): string | undefined {
  return accountFiles.find((place) => matches(path, place));
}

/** True where the path is a block device, physical memory or the kernel's command file. */
export function isDevice(path: Path): boolean {
  if (!path.rooted) return false;
  const [top = '', name = ''] = path.parts;
  if (matchesGlob(top, 'proc') && matchesGlob(name, 'sysrq-trigger')) return true;
  if (!matchesGlob(top, 'dev')) return false;
  if (isGlob(name)) return deviceSamples.some((sample) => matchesGlob(name, sample));
  if (/^(?:mapper|disk|block)$/.test(name)) return path.parts.length > 2;
  return path.parts.length === 2 && deviceName.test(name);
}

const deviceName =
  /^(?:(?:sd|hd|vd|xvd)[a-z]+\d*|nvme\d+(?:n\d+(?:p\d+)?)?|mmcblk\d+\w*|dm-\d+|md\d+|r?disk\d+\w*|k?mem|port)$/;
const deviceSamples = [
  'sda',
  'sda1',
  'sdb',
  'hda',
  'vda',
  'xvda',
  'nvme0n1',
  'mmcblk0',
  'dm-0',
  'md0',
  'mem',
];

/** The key file or key folder that this path may be, or `undefined`. */
export function keyFile(path: Path, policy: Folders): string | undefined {
  const last = path.parts.at(-1) ?? '';
  if (last === ownConfigName) return ownConfigName;
  if (path.rooted) {
    const place = keyFiles.find((file) => matches(path, file));
    if (place !== undefined) return place;
  }
  const place = keyFilesOfHome.find((file) =>
    path.rooted ? homes(policy).some((home) => matches(path, `${home}/${file}`)) : endsLike(path, file),
  );
  return place === undefined || (path.parts.length > 2 && publicNames.test(last))
    ? undefined
    : `~/${place.replace('/**', '')}`;
}

/** A glob that spells out the list of accounts is a disguise, though the list itself is public. */
export function isDisguisedAccountFile(path: Path): boolean {
  return path.parts.some((part) => /\[/.test(part) && isGlob(part)) && accountFile(path) !== undefined;
}

/** True where the path is a folder that key files lie in: copying all of it copies them. */
export function holdsKeyFiles(path: Path, policy: Folders): boolean {
  if (!path.rooted || isWorkspace(path, policy)) return false;
  return path.parts.length === 0 || matches(path, '/etc') || homes(policy).some((home) => covers(path, home));
}

/** Examples of protected paths, for loops over a glob: the policy cannot list files, but it knows these names. */
export function samplePlaces(policy: Folders): readonly string[] {
  const home = policy.home;
  return [
    ...systemFolders,
    '/etc/shadow',
    '/etc/gshadow',
    '/proc/1/environ',
    ...[
      '.ssh/id_rsa',
      '.ssh/id_ed25519',
      '.aws/credentials',
      '.kube/config',
      '.netrc',
      '.gnupg/secring.gpg',
    ].map((file) => `${home}/${file}`),
    '/home/user/.ssh/id_rsa',
    ...deviceSamples.map((name) => `/dev/${name}`),
  ];
}

/** Whether the literal path may be what a pattern path names, part by part. */
export function mayName(path: Path, literal: string): boolean {
  return path.rooted && matches(path, literal);
}

function homes(policy: Folders): string[] {
  return [policy.home, '/root', '/home/*', '/Users/*'];
}

function isWorkspace(path: Path, policy: Folders): boolean {
  const own = pathOf(policy.workspace).parts;
  return own.length > 0 && own.every((part, index) => path.parts[index] === part);
}

/** The place itself, or all that lies directly in it. */
function covers(path: Path, place: string): boolean {
  return matches(path, place) || (isWideGlob(path.parts.at(-1) ?? '') && matches(parent(path), place));
}

function parent(path: Path): Path {
  return { rooted: path.rooted, parts: path.parts.slice(0, -1) };
}

function matches(path: Path, place: string): boolean {
  const wanted = place.split('/').filter((part) => part !== '');
  const open = wanted.at(-1) === '**';
  if (open) wanted.pop();
  if (open ? path.parts.length < wanted.length : path.parts.length !== wanted.length) return false;
  return wanted.every((name, index) => partMatches(path.parts[index] ?? '', name));
}

function partMatches(part: string, name: string): boolean {
  if (name === '*') return part !== '';
  return (
    !hasUnknown(part) &&
    matchesGlob(part, name) &&
    (!name.startsWith('.') || part.startsWith('.') || part.startsWith('['))
  );
}

/** For a path below an unknown folder: it ends as the key file does. */
function endsLike(path: Path, file: string): boolean {
  const wanted = file.replace('/**', '').split('/');
  return path.parts.some((_, start) => wanted.every((name, index) => path.parts[start + index] === name));
}
