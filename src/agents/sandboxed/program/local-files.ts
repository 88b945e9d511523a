import { lstat, mkdir, open, readdir, realpath, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { GeodeError } from '../../../base/errors.ts';
import { replaceFile } from '../../../base/replace-file.ts';
import type { FileFacts, Files, FileType } from '../../../seams/files.ts';

const mostBytes = 64 * 1024 ** 2;

/** The files of the program's folder, by the same rules as a sandbox's: no path leads outside. */
export function localFiles(folder: string): Pick<Files, 'read' | 'readText' | 'stat' | 'write' | 'list'> {
  const at = (path: string) => confined(folder, path);
  const read: Files['read'] = (path, { offset = 0, length } = {}) =>
    missingIs(path, async () => {
      await using file = await open(await at(path), 'r');
      const { size } = await file.stat();
      const wanted = Math.max(0, Math.min(length ?? size, size - offset));
      if (wanted > mostBytes)
        throw new GeodeError('too_large', `${path} has ${size} bytes; read it in parts.`);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(wanted), 0, wanted, offset);
      return buffer.subarray(0, bytesRead);
    });
  return {
    read,
    readText: async (path, options) => new TextDecoder().decode(await read(path, options)),
    stat: (path) => missingIs(path, async () => factsOf(await at(path))),
    write: (path, content) => write(folder, path, content),
    list: (path, { depth = 1, limit = 1000 } = {}) =>
      missingIs(path, async () => {
        const entries: FileFacts[] = [];
        const truncated = !(await listInto(entries, await at(path), depth, limit));
        return { entries, truncated };
      }),
  };
}

async function write(
  folder: string,
  path: string,
  content: Parameters<Files['write']>[1],
): Promise<FileFacts> {
  if (typeof content !== 'string' && !(content instanceof Uint8Array))
    throw new GeodeError('invalid_input', 'Only text and bytes can be written here.');
  const lexical = withinFolder(folder, path);
  await confined(folder, dirname(lexical));
  await mkdir(dirname(lexical), { recursive: true });
  const target = await confined(folder, path);
  try {
    const before = await stat(target).catch(() => undefined);
    await replaceFile(target, (draft) => writeFile(draft, content, { mode: before?.mode ?? 0o666 }));
  } catch (error) {
    throw new GeodeError('invalid_path', `${path} cannot be written: ${(error as Error).message}`);
  }
  return await factsOf(target);
}

/** The real path, even of a missing file. Throws `invalid_path` if it is outside. */
async function confined(folder: string, path: string): Promise<string> {
  const lexical = withinFolder(folder, path);
  const root = await realpath(folder);
  let existing = lexical;
  const rest: string[] = [];
  for (;;) {
    const real = await realpath(existing).catch(() => undefined);
    if (real !== undefined) {
      if (!isInside(root, real)) throw outside(path);
      return join(real, ...rest);
    }
    const link = await lstat(existing).catch(() => undefined);
    if (link?.isSymbolicLink()) throw outside(path);
    rest.unshift(basename(existing));
    existing = dirname(existing);
  }
}

function withinFolder(folder: string, path: string): string {
  if (path.includes('\0')) throw outside(path);
  const lexical = isAbsolute(path) ? resolve(path) : resolve(folder, path);
  if (!isInside(folder, lexical)) throw outside(path);
  return lexical;
}

function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function outside(path: string): GeodeError {
  return new GeodeError('invalid_path', `${JSON.stringify(path)} is not in the workspace.`);
}

async function missingIs<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GeodeError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw new GeodeError('file_not_found', `There is no ${JSON.stringify(path)}.`);
    throw new GeodeError('invalid_path', `${path} cannot be read: ${message}`);
  }
}

/** False if there are more than the limit. */
async function listInto(entries: FileFacts[], path: string, depth: number, limit: number): Promise<boolean> {
  for (const name of (await readdir(path)).sort()) {
    if (entries.length >= limit) return false;
    const facts = await factsOf(join(path, name)).catch(() => undefined);
    if (facts === undefined) continue;
    entries.push(facts);
    if (facts.type !== 'directory' || depth <= 1) continue;
    if (!(await listInto(entries, join(path, name), depth - 1, limit))) return false;
  }
  return true;
}

async function factsOf(path: string): Promise<FileFacts> {
  const facts = await lstat(path);
  return {
    path,
    name: basename(path),
    type: typeOf(facts),
    size: facts.size,
    mode: facts.mode & 0o7777,
    mtimeMs: facts.mtimeMs,
    uid: facts.uid,
    gid: facts.gid,
    target: null,
  };
}

function typeOf(facts: Awaited<ReturnType<typeof lstat>>): FileType {
  if (facts.isFile()) return 'file';
  if (facts.isDirectory()) return 'directory';
  if (facts.isSymbolicLink()) return 'symlink';
  if (facts.isSocket()) return 'socket';
  return facts.isFIFO() ? 'pipe' : 'device';
}
