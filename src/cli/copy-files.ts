import { chmod, lstat, stat } from 'node:fs/promises';
import { basename, join, posix, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Cancel } from '../base/cancel.ts';
import { GeodeError, isGeodeError } from '../base/errors.ts';
import { replaceFile } from '../base/replace-file.ts';
import type { RemoteSandbox } from '../client/sandbox.ts';
import type { FileFacts } from '../seams/files.ts';
import type { CliContext } from './command.ts';

/** One side of a copy: a path in a sandbox, whose word comes before the first colon, or one here. */
export interface Side {
  readonly word: string | undefined;
  readonly path: string;
}

export interface Copied {
  readonly from: string;
  readonly to: string;
  readonly type: 'file' | 'directory';
  readonly entries: number;
}

type Place = Pick<RemoteSandbox, 'rootFiles'>;
/** The local side of a copy: paths start at the working folder, and - is stdin or stdout. */
type Here = Pick<CliContext, 'cwd' | 'streams' | 'signal' | 'machine'>;

export function sideOf(given: string): Side {
  const at = given.indexOf(':');
  if (at < 1 || /^[./]/.test(given)) return { word: undefined, path: given };
  return { word: given.slice(0, at), path: given.slice(at + 1) || '.' };
}

/** `maxBytes` limits the disk space of the copy on this machine. Default: the disk limit of the sandbox. */
export async function copyOut(
  place: Place,
  from: string,
  to: string,
  here: Here,
  maxBytes: number | undefined,
): Promise<Copied> {
  const { rootFiles: files } = place;
  const cancel: Cancel = { signal: here.signal };
  const local = (path: string) => resolve(here.cwd, path);
  const facts = await files.stat(from, { follow: true, ...cancel });
  if (to === '-') {
    refuseFolder(from, facts.type);
    await pipeline(Readable.from(files.stream(from, cancel)), here.streams.stdout, { end: false });
    return { from, to, type: 'file', entries: 1 };
  }
  const isInto = (await stat(local(to)).catch(() => undefined))?.isDirectory() === true;
  const target = isInto ? join(to, nameOf(posix.resolve('/', from) === '/' ? facts.path : from, from)) : to;
  const most = maxBytes === undefined ? {} : { maxBytes };
  if (facts.type === 'directory')
    return {
      from,
      to: target,
      type: 'directory',
      entries: await files.download(from, local(target), { ...most, ...cancel }),
    };
  const mode = facts.mode & 0o777 & ~here.machine.umask;
  await saveFile(local(target), mode, (path) => files.save(from, path, { mode, ...most, ...cancel }));
  return { from, to: target, type: 'file', entries: 1 };
}

/** Saves to a temporary file beside the target first, so an interrupted copy keeps the old file. */
async function saveFile(path: string, mode: number, save: (path: string) => Promise<void>): Promise<void> {
  await replaceFile(path, async (draft) => {
    await save(draft);
    // Use the umask of the user who copies, not of this process.
    await chmod(draft, mode);
  }).catch((error) => {
    throw localFailure(path, error);
  });
}

export async function copyIn(place: Place, from: string, to: string, here: Here): Promise<Copied> {
  const { rootFiles: files } = place;
  const cancel: Cancel = { signal: here.signal };
  const local = resolve(here.cwd, from);
  const isFolder = from !== '-' && (await localFacts(local)).isDirectory();
  const there = await files.stat(to, { follow: true, ...cancel }).catch((error) => {
    if (isGeodeError(error, 'file_not_found')) return undefined;
    throw error;
  });
  const isInto = there?.type === 'directory';
  if (isInto && from === '-')
    throw new GeodeError('not_a_file', `${to} is a folder.`, { hint: 'Name the file: CHAT:FOLDER/FILE.' });
  const target = isInto ? posix.join(to, nameOf(local, from)) : to;
  if (isFolder) {
    await files.mkdir(target, cancel);
    return { from, to: target, type: 'directory', entries: await files.upload(local, target, cancel) };
  }
  if (from === '-') await files.write(target, here.streams.stdin, cancel);
  else await files.upload(local, target, cancel);
  return { from, to: target, type: 'file', entries: 1 };
}

/** Follows links, as cp does; reports a link without a target. */
async function localFacts(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    const isLink = (await lstat(path).catch(() => undefined))?.isSymbolicLink() === true;
    throw localFailure(isLink ? `The link ${path}` : path, error);
  }
}

function localFailure(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error) || isGeodeError(error)) return error;
  const isFull = error.code === 'ENOSPC' || error.code === 'EDQUOT' || error.code === 'EFBIG';
  if (isFull)
    return new GeodeError('disk_full', `The disk of this machine has no room for ${path}.`, {
      hint: 'Make room on it, or copy to another one.',
      cause: error,
    });
  const code =
    error.code === 'ENOENT' ? 'file_not_found' : error.code === 'EISDIR' ? 'not_a_file' : 'file_refused';
  return new GeodeError(code, `${path} on this machine: ${error.message}.`, {
    hint: 'Correct the path, or the permissions of the folder that it is in.',
    cause: error,
  });
}

function nameOf(path: string, given: string): string {
  const name = basename(path);
  if (name !== '') return name;
  throw new GeodeError('invalid_input', `${given} has no name of its own to be copied under.`, {
    hint: 'Name a target that does not exist yet.',
  });
}

function refuseFolder(path: string, type: FileFacts['type']): void {
  if (type === 'file') return;
  throw new GeodeError('not_a_file', `${path} is a ${type}; only a file can be written to stdout.`);
}
