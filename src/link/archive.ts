import { createReadStream, createWriteStream } from 'node:fs';
import { lstat, mkdir, mkdtemp, readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { dirname, join, normalize, resolve, sep } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract, type Header, pack } from 'tar-stream';
import { GeodeError } from '../core/errors.ts';

/** A host folder as a tar stream: links travel as links, sockets and devices are left out. */
export function packFolder(folder: string): AsyncIterable<Uint8Array> {
  const tar = pack();
  const root = resolve(folder);
  const fill = async () => {
    for (const name of await readdir(root, { recursive: true })) await packEntry(tar, root, name);
    tar.finalize();
  };
  fill().catch((error: Error) => tar.destroy(error));
  return tar as AsyncIterable<Uint8Array>;
}

async function packEntry(tar: ReturnType<typeof pack>, root: string, name: string): Promise<void> {
  const path = join(root, name);
  const facts = await lstat(path);
  const header = { name, mode: facts.mode & 0o7777, mtime: facts.mtime };
  if (facts.isDirectory()) tar.entry({ ...header, type: 'directory' });
  else if (facts.isSymbolicLink()) tar.entry({ ...header, type: 'symlink', linkname: await readlink(path) });
  else if (facts.isFile()) {
    const entry = tar.entry({ ...header, type: 'file', size: facts.size });
    // A file that grows meanwhile must not spill into the next entry.
    await pipeline(createReadStream(path, { end: Math.max(facts.size - 1, 0) }), entry);
  }
}

/**
 * Unpacks an archive that nobody trusts into a new host folder, whole or not at all: it is built beside
 * the place under a name of its own, and only a complete and harmless tree is moved there.
 */
export async function unpackFolder(tar: AsyncIterable<Uint8Array>, folder: string): Promise<number> {
  const place = resolve(folder);
  await mkdir(dirname(place), { recursive: true });
  const staging = await mkdtemp(`${place}.partial-`);
  try {
    const entries = await unpackInto(tar, staging);
    await rename(staging, place).catch((cause: NodeJS.ErrnoException) => {
      throw new GeodeError('file_exists', `${folder} exists already and is not an empty folder.`, { cause });
    });
    return entries;
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    throw error;
  }
}

async function unpackInto(tar: AsyncIterable<Uint8Array>, root: string): Promise<number> {
  const parser = extract();
  const feeding = pipeline(Readable.from(tar), parser);
  feeding.catch((error: Error) => parser.destroy(error));
  const links: { path: string; target: string }[] = [];
  const paths: string[] = [];
  for await (const entry of parser) {
    const path = inside(root, entry.header.name);
    paths.push(path);
    if (entry.header.type === 'directory') await mkdir(path, { recursive: true });
    else if (entry.header.type === 'symlink')
      links.push({ path, target: linkTarget(root, path, entry.header) });
    else if (entry.header.type === 'file') {
      await mkdir(dirname(path), { recursive: true });
      const mode = (entry.header.mode ?? 0o644) & 0o777;
      await pipeline(entry, createWriteStream(path, { flags: 'wx', mode }));
    } else throw refuse(entry.header.name, `it is a ${entry.header.type}`);
    entry.resume();
  }
  await feeding;
  // Links come last, so that no entry is ever written through one.
  for (const { path, target } of links) {
    const below = paths.find((other) => other.startsWith(path + sep));
    if (below !== undefined) throw refuse(below.slice(root.length + 1), 'it lies below a link');
    await mkdir(dirname(path), { recursive: true });
    await symlink(target, path);
  }
  return paths.length;
}

function inside(root: string, name: string): string {
  if (name.startsWith('/') || name.includes('\0') || name.split('/').includes('..'))
    throw refuse(name, 'it leaves the folder');
  return join(root, name);
}

function linkTarget(root: string, path: string, header: Header): string {
  const target = header.linkname ?? '';
  const reached = resolve(dirname(path), normalize(target));
  if (target === '' || target.startsWith('/') || !`${reached}${sep}`.startsWith(root + sep)) {
    throw refuse(header.name, `it links to ${JSON.stringify(target)}, outside of the folder`);
  }
  return target;
}

function refuse(name: string, reason: string): GeodeError {
  return new GeodeError(
    'archive_refused',
    `The archive entry ${JSON.stringify(name)} was refused: ${reason}. Nothing was written.`,
  );
}
