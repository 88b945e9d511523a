import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPackages } from './apt.ts';
import { command } from './command.ts';
import { cacheFolder } from './folders.ts';
import { inTurn } from './in-turn.ts';
import { type ImageName, type Recipe, recipes } from './recipes.ts';

const release = 'bookworm';
const layerScript = fileURLToPath(new URL('layer.sh', import.meta.url));
/** The files that decide the content of an image; a change in one of them rebuilds the images. */
const sources = [layerScript, new URL('rootfs.ts', import.meta.url), new URL('recipes.ts', import.meta.url)];

export interface Rootfs {
  /** Says which content the recipe makes. */
  readonly hash: string;
  /** The path of the tar, which is made now unless it was before. */
  tar(): Promise<string>;
}

const known = new Map<ImageName, Promise<Rootfs>>();

/** The root filesystem of an image. Call it under the setup lock: leftovers of a killed build are removed here. */
export function rootfsOf(name: ImageName): Promise<Rootfs> {
  const rootfs = known.get(name) ?? look(name);
  known.set(name, rootfs);
  return rootfs;
}

async function look(name: ImageName): Promise<Rootfs> {
  const recipe: Recipe = recipes[name];
  await installPackages(recipe.needs ?? []);
  const hash = createHash('sha256').update(name);
  for (const source of sources) hash.update(readFileSync(source));
  hash.update((await recipe.version?.()) ?? '');
  const digest = hash.digest('hex').slice(0, 16);
  let made: Promise<string> | undefined;
  return {
    hash: digest,
    tar() {
      made ??= makeTar(name, digest);
      return made;
    },
  };
}

/** One at a time: they share the package cache. */
const makeTar = inTurn(async (name: ImageName, hash: string): Promise<string> => {
  const folder = join(cacheFolder, 'rootfs');
  const tar = join(folder, `${name}-${hash}.tar`);
  if (existsSync(tar)) return tar;
  const work = join(folder, `${name}-work`);
  mkdirSync(folder, { recursive: true });
  for (const old of readdirSync(folder)) {
    if (old.startsWith(`${name}-`)) rmSync(join(folder, old), { recursive: true });
  }
  mkdirSync(work);
  try {
    await build(recipes[name], work);
    renameSync(join(work, 'image.tar'), tar);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return tar;
});

async function build(recipe: Recipe, work: string): Promise<void> {
  const files = join(work, 'files');
  mkdirSync(files);
  await recipe.files?.(files);
  const tar = join(work, 'image.tar');
  if (recipe.base === 'nothing') {
    await command('tar', ['--create', '--file', tar, '--directory', files, '--numeric-owner', '.'], {
      timeoutMs: 60_000,
    });
    return;
  }
  const layer = ['sh', layerScript, await debianFolder(), work, packageCache(), files, tar];
  await command('unshare', ['--mount', '--pid', '--fork', '--kill-child', ...layer, ...recipe.packages], {
    timeoutMs: 600_000,
  });
}

/** Debian's minimal system as a folder, made once. */
async function debianFolder(): Promise<string> {
  const folder = join(cacheFolder, 'debian', release);
  if (existsSync(folder)) return folder;
  await installPackages(['debootstrap', 'debian-archive-keyring']);
  const half = `${folder}.partial`;
  rmSync(half, { recursive: true, force: true });
  mkdirSync(half, { recursive: true });
  const archives = join(packageCache(), 'archives');
  mkdirSync(archives, { recursive: true });
  await command(
    'debootstrap',
    ['--variant=minbase', `--cache-dir=${archives}`, release, half, ...(await mirror())],
    { timeoutMs: 600_000 },
  );
  renameSync(half, folder);
  return folder;
}

function packageCache(): string {
  return join(cacheFolder, 'packages');
}

/** The mirror this machine already uses for that release, so that a private one is honoured; else the program's own. */
async function mirror(): Promise<readonly string[]> {
  const configured = await command(
    'apt-get',
    [
      'indextargets',
      '--format',
      '$(REPO_URI)',
      `Codename: ${release}`,
      'Component: main',
      'Created-By: Packages',
    ],
    { timeoutMs: 30_000 },
  ).catch(() => '');
  return configured
    .trim()
    .split('\n')
    .slice(0, 1)
    .filter((uri) => uri !== '');
}
