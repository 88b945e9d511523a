import { constants } from 'node:fs';
import {
  type FileHandle,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readlink,
  rename,
  rm,
  symlink,
} from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract, type Header, type Pack, pack } from 'tar-stream';
import { GeodeError } from './errors.ts';
import { DiskBudget, saveContent } from './sparse.ts';

/** Maximum bytes of a folder in memory; small files are read whole. */
const mostInAdvance = 16;
const smallBytes = 64 * 1024;

/**
 * A host folder as a tar stream: links stay links, sockets and devices are left out. Opens nothing before the first
 * `next()`, and has closed everything when `return()` resolves. `isWanted` decides on each path below the folder;
 * nothing below an unwanted path is read.
 */
export async function* packFolder(
  folder: string,
  isWanted: (path: string) => boolean = () => true,
): AsyncGenerator<Uint8Array> {
  const tar = pack();
  const filling = fill(tar, resolve(folder), isWanted).catch((error: Error) => {
    tar.destroy(error);
  });
  try {
    yield* tar as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw isErrno(error, 'ENOENT', 'ENOTDIR') ? missing(folder, error) : error;
  } finally {
    tar.destroy();
    await filling;
  }
}

async function fill(tar: Pack, root: string, isWanted: (path: string) => boolean): Promise<void> {
  const paths = pathsBelow(root, (path) => isWanted(relative(root, path)));
  for await (const put of inAdvance(paths, (path) => entryOf(path, relative(root, path)))) {
    await put(tar);
  }
  tar.finalize();
}

/** Folders before their content. A link is listed like a file and never followed. */
async function* pathsBelow(folder: string, isWanted: (path: string) => boolean): AsyncGenerator<string> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (!isWanted(path)) continue;
    yield path;
    if (entry.isDirectory()) yield* pathsBelow(path, isWanted);
  }
}

/** Results in the order of the items, with a few items in progress at once. */
async function* inAdvance<Item, Result>(
  items: AsyncIterable<Item>,
  load: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const underWay: Promise<Result>[] = [];
  try {
    for await (const item of items) {
      const loading = load(item);
      loading.catch(() => {}); // a failure is thrown at its turn
      underWay.push(loading);
      const [next] = underWay;
      if (underWay.length <= mostInAdvance || next === undefined) continue;
      yield await next;
      underWay.shift();
    }
    for (const loading of underWay) yield await loading;
  } finally {
    await Promise.allSettled(underWay);
  }
}

type Put = (tar: Pack) => Promise<void>;

/** Small files are read in advance here; a large file is read at its turn. */
async function entryOf(path: string, name: string): Promise<Put> {
  const facts = await lstat(path);
  const header = { name, mode: facts.mode & 0o7777, mtime: facts.mtime };
  if (facts.isDirectory()) return whole({ ...header, type: 'directory' });
  if (facts.isSymbolicLink()) return whole({ ...header, type: 'symlink', linkname: await readlink(path) });
  if (!facts.isFile()) return async () => {};
  if (facts.size > smallBytes) return (tar) => streamed(tar, path, header);
  await using file = await openPlain(path);
  return whole({ ...header, type: 'file' }, await upTo(file, facts.size));
}

/** A read may return fewer bytes than requested. */
async function upTo(file: FileHandle, size: number): Promise<Buffer> {
  const content = Buffer.alloc(size);
  for (let at = 0; ; ) {
    const { bytesRead } = await file.read(content, at, size - at, at);
    at += bytesRead;
    if (bytesRead === 0 || at === size) return content.subarray(0, at);
  }
}

function whole(header: Partial<Header> & { name: string }, content: Buffer = Buffer.alloc(0)): Put {
  return (tar) =>
    new Promise((resolve, reject) => {
      tar.entry(header, content, (error) => (error ? reject(error) : resolve()));
    });
}

async function streamed(tar: Pack, path: string, header: Partial<Header> & { name: string }): Promise<void> {
  await using file = await openPlain(path);
  const { size } = await file.stat();
  // A file that grows during the read must not spill into the next entry.
  const content = size === 0 ? [] : file.createReadStream({ start: 0, end: size - 1 });
  await pipeline(content, tar.entry({ ...header, type: 'file', size }));
}

/** If the name becomes a link or a pipe before the open, it is neither followed nor waited for. */
function openPlain(path: string): Promise<FileHandle> {
  return open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
}

function missing(folder: string, cause: NodeJS.ErrnoException): GeodeError {
  const what = `${cause.path ?? folder} on the host`;
  return cause.code === 'ENOENT'
    ? new GeodeError('file_not_found', `${what} does not exist. Nothing was uploaded.`, { cause })
    : new GeodeError('not_a_file', `${what} is not a folder. Nothing was uploaded.`, { cause });
}

/**
 * Unpacks an untrusted archive into a new host folder, all or nothing: into a temporary folder beside it, which is
 * moved only if the whole tree is complete and harmless.
 */
export async function unpackFolder(
  tar: AsyncIterable<Uint8Array>,
  folder: string,
  { maxBytes }: { readonly maxBytes?: number | undefined } = {},
): Promise<number> {
  const place = resolve(folder);
  await mkdir(dirname(place), { recursive: true });
  const staging = await mkdtemp(`${place}.partial-`);
  try {
    const entries = await unpackInto(tar, staging, new DiskBudget(maxBytes));
    await rename(staging, place).catch((cause: NodeJS.ErrnoException) => {
      throw new GeodeError('file_exists', `${folder} already exists and is not an empty folder.`, { cause });
    });
    return entries;
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    throw error;
  }
}

interface ArchivedLink {
  readonly name: string;
  readonly path: string;
  readonly target: string;
}

/** Cost of an entry besides its content: otherwise empty entries would be free. */
const entryBytes = 4096;
/** A header record of the guest: the content is a map of the file's data, followed by the data. */
const sparseRecord = 'GEODE.sparse';

async function unpackInto(tar: AsyncIterable<Uint8Array>, root: string, budget: DiskBudget): Promise<number> {
  const parser = extract();
  const feeding = pipeline(Readable.from(tar), parser);
  feeding.catch((error: Error) => parser.destroy(error));
  const links: ArchivedLink[] = [];
  let entries = 0;
  for await (const entry of parser) {
    const { name, type, mode = 0o644, pax } = entry.header;
    const path = inside(root, name);
    entries += 1;
    budget.take(entryBytes);
    if (type === 'directory') await placed(name, mkdir(path, { recursive: true }));
    else if (type === 'symlink') links.push({ name, path, target: linkTarget(root, path, entry.header) });
    else if (type === 'file') {
      await placed(name, mkdir(dirname(path), { recursive: true }));
      const sparse = Object.hasOwn(pax ?? {}, sparseRecord);
      await placed(
        name,
        saveContent(entry as AsyncIterable<Uint8Array>, { path, mode: mode & 0o777, budget, sparse }),
      );
    } else throw refuse(name, `it is a ${type}`);
    entry.resume();
  }
  await feeding;
  await makeLinks(links);
  return entries;
}

/**
 * Links come last, after the folders of all of them. So nothing is ever written through a link, every link lies in a
 * real folder, and a link with content below it finds its name taken.
 */
async function makeLinks(links: readonly ArchivedLink[]): Promise<void> {
  for (const { name, path } of links) await placed(name, mkdir(dirname(path), { recursive: true }));
  for (const { name, path, target } of links) await placed(name, symlink(target, path));
}

/** Two entries with conflicting paths are the archive's error, not the disk's. */
async function placed(name: string, work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (isErrno(error, 'EEXIST', 'ENOTDIR', 'EISDIR'))
      throw refuse(name, 'another entry has the same path or lies below it');
    if (isErrno(error, 'ENAMETOOLONG'))
      throw refuse(name, 'its path is too long for this machine', 'Copy a folder at a lower level.');
    if (isErrno(error, 'ENOSPC', 'EDQUOT', 'EFBIG')) throw noRoom(error);
    throw error;
  }
}

function inside(root: string, name: string): string {
  if (name.startsWith('/') || name.includes('\0') || name.split('/').includes('..'))
    throw refuse(name, 'it leaves the folder');
  return join(root, name);
}

/**
 * A target may go up only at its start. In a real folder that leads where it appears to, and from there all parts
 * lead down or through other links with the same rule, so no chain of links leaves the folder. A `..` after a name
 * would start from the target of a link with that name.
 */
function linkTarget(root: string, path: string, header: Header): string {
  const target = header.linkname ?? '';
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const highest = resolve(dirname(path), ...parts.filter((part) => part === '..'));
  const leaves = (why: string) => refuse(header.name, `it links to ${JSON.stringify(target)}, ${why}`);
  if (target === '' || target.includes('\0')) throw leaves('which is no path');
  if (parts.some((part, index) => part === '..' && index > 0 && parts[index - 1] !== '..'))
    throw leaves('which goes up after a name');
  if (target.startsWith('/') || (highest !== root && !highest.startsWith(root + sep)))
    throw leaves('outside the folder');
  return target;
}

function isErrno(error: unknown, ...codes: readonly string[]): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && codes.some((code) => code === error.code);
}

function noRoom(cause: Error): GeodeError {
  return new GeodeError('disk_full', "This machine's disk has no space for the copy. Nothing was kept.", {
    hint: 'Free space on the target disk, or copy to another one.',
    cause,
  });
}

const longestShown = 200;

function refuse(name: string, reason: string, hint?: string): GeodeError {
  const shown = name.length > longestShown ? `${name.slice(0, longestShown)}…` : name;
  return new GeodeError(
    'archive_refused',
    `The archive entry ${JSON.stringify(shown)} was refused: ${reason}. Nothing was written.`,
    hint === undefined ? {} : { hint },
  );
}
