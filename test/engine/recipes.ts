import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { command } from './command.ts';
import { installNewcomerPrograms, newcomerPrograms } from './newcomer-programs.ts';

/** How the root filesystem of a test image comes about. Nothing is pulled from a registry. */
export interface Recipe {
  /** Debian's minimal system, or an empty folder. */
  readonly base: 'debian' | 'nothing';
  /** Debian packages put on top of it. */
  readonly packages: readonly string[];
  /** Packages that this machine needs before `files` can run. */
  readonly needs?: readonly string[];
  /** Further inputs of the content, for instance the version of a copied program. */
  readonly version?: () => Promise<string> | string;
  /** Writes further files below `root`. */
  readonly files?: (root: string) => Promise<void> | void;
  readonly command: readonly string[];
}

const debianPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const busyboxProgram = '/usr/bin/busybox';

export const recipes = {
  base: { base: 'debian', packages: [], command: ['bash'] },
  python: { base: 'debian', packages: ['python3'], command: ['python3'] },
  /** Debian's Node is too old; the one that runs the tests is not. */
  node: { base: 'debian', packages: [], version: nodeVersion, files: copyNode, command: ['node'] },
  /** No glibc, no bash, no Debian: what an Alpine-like image looks like to the guest. */
  busybox: {
    base: 'nothing',
    packages: [],
    needs: ['busybox-static'],
    version: busyboxVersion,
    files: copyBusybox,
    command: ['sh'],
  },
  /** One static shell at an unusual place; no /tmp, no /etc/passwd, no PATH that leads anywhere. */
  distroless: {
    base: 'nothing',
    packages: [],
    needs: ['busybox-static'],
    version: busyboxVersion,
    files: copyShell,
    command: ['/busybox/sh'],
  },
  gcc: { base: 'debian', packages: ['gcc', 'libc6-dev'], command: ['bash'] },
  rust: { base: 'debian', packages: ['rustc', 'gcc', 'libc6-dev'], command: ['bash'] },
  go: { base: 'debian', packages: ['golang-go'], command: ['bash'] },
  newcomer: {
    base: 'debian',
    packages: ['bubblewrap', 'python3-minimal'],
    version: () => JSON.stringify(newcomerPrograms),
    files: installNewcomerPrograms,
    command: ['bash'],
  },
} as const satisfies Record<string, Recipe>;

export type ImageName = keyof typeof recipes;

/** Dockerfile lines that go with the files. */
export function configuration(name: ImageName): string[] {
  return [
    `ENV PATH=${name === 'distroless' ? '/busybox' : debianPath}`,
    `CMD ${JSON.stringify(recipes[name].command)}`,
  ];
}

function nodePackage(): string {
  return dirname(createRequire(import.meta.url).resolve(`node-linux-${process.arch}/package.json`));
}

function nodeVersion(): string {
  return readFileSync(join(nodePackage(), 'package.json'), 'utf8');
}

function copyNode(root: string): void {
  mkdirSync(join(root, 'usr/local/bin'), { recursive: true });
  copyFileSync(join(nodePackage(), 'bin/node'), join(root, 'usr/local/bin/node'));
  chmodSync(join(root, 'usr/local/bin/node'), 0o755);
}

function busyboxVersion(): string {
  return createHash('sha256').update(readFileSync(busyboxProgram)).digest('hex');
}

async function copyBusybox(root: string): Promise<void> {
  for (const folder of ['bin', 'dev', 'etc', 'home', 'proc', 'root', 'sys', 'tmp', 'var']) {
    mkdirSync(join(root, folder));
  }
  chmodSync(join(root, 'tmp'), 0o1777);
  writeFileSync(
    join(root, 'etc/passwd'),
    'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n',
  );
  writeFileSync(join(root, 'etc/group'), 'root:x:0:\nnogroup:x:65534:\n');
  cpSync(busyboxProgram, join(root, 'bin/busybox'));
  const applets = await command(busyboxProgram, ['--list-full'], { timeoutMs: 10_000 });
  for (const applet of applets.trim().split('\n')) {
    if (applet === 'bin/busybox') continue;
    const link = join(root, applet);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync('/bin/busybox', link);
  }
}

function copyShell(root: string): void {
  mkdirSync(join(root, 'busybox'));
  cpSync(busyboxProgram, join(root, 'busybox/sh'));
}
