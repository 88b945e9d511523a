import { posix } from 'node:path';
import type { Cancel } from '../base/cancel.ts';
import { isGeodeError, reasonOf } from '../base/errors.ts';
import type { FileFacts, Files } from '../seams/files.ts';
import type { RunEvent } from '../seams/run.ts';
import type { Workspace } from '../seams/sandbox.ts';
import { buildFolder } from './languages/language.ts';
import { isRelativePath } from './options.ts';

const mostFiles = 1_000;
const mostBytes = 64 * 1024 ** 2;
const deepest = 64;

type ArtifactEvent = Extract<RunEvent, { type: 'artifact' | 'artifact-missed' }>;

/** Returns the requested files. Anything except a plain file is listed with the reason. */
export async function* collectArtifacts(
  { files, workdir }: Workspace,
  wanted: readonly string[],
  cancel: Cancel,
): AsyncGenerator<ArtifactEvent> {
  const seen = new Set<string>();
  let total = 0;
  for (const pattern of wanted) {
    let found: readonly FileFacts[];
    try {
      found = await matches(files, pattern, cancel);
    } catch (error) {
      yield missed(pattern, error);
      continue;
    }
    if (found.length === 0) yield missed(pattern, 'nothing matches');
    for (const { path: where, type, size } of found) {
      const path = posix.relative(workdir, posix.resolve(workdir, where));
      // The names come from the sandbox and may be written to the host's disk.
      if (seen.has(path) || !isRelativePath(path)) continue;
      seen.add(path);
      if (type === 'directory' || path === buildFolder || path.startsWith(`${buildFolder}/`)) continue;
      if (type !== 'file') yield missed(path, `it is a ${type}, not a file`);
      else if (seen.size > mostFiles) return yield missed(path, `the maximum is ${mostFiles} files`);
      else if (total + size > mostBytes) yield missed(path, `the maximum is ${mostBytes} bytes in total`);
      else {
        total += size;
        yield await fetched(files, path, cancel);
      }
    }
  }
}

/** A literal path, everything below a folder, or a glob, tried in this order, so that any name can be requested. */
async function matches(files: Files, wanted: string, cancel: Cancel): Promise<readonly FileFacts[]> {
  const path = posix.normalize(wanted);
  const facts = await lookAt(files, path, cancel);
  if (facts === undefined)
    return (await files.search('.', wanted, { limit: mostFiles + 1, ...cancel })).entries;
  if (facts.type !== 'directory') return [{ ...facts, path }];
  return (await files.list(path, { depth: deepest, limit: mostFiles + 1, ...cancel })).entries;
}

/** Step by step, so that no link on the way is followed. */
async function lookAt(files: Files, path: string, cancel: Cancel): Promise<FileFacts | undefined> {
  const steps = path.split('/').map((_, index, all) => all.slice(0, index + 1).join('/') || '/');
  let facts: FileFacts | undefined;
  for (const step of steps) {
    try {
      facts = await files.stat(step, { follow: false, ...cancel });
    } catch (error) {
      if (isGeodeError(error, 'file_not_found') || isGeodeError(error, 'not_a_file')) return undefined;
      throw error;
    }
    if (facts.type === 'symlink') return facts;
  }
  return facts;
}

async function fetched(files: Files, path: string, cancel: Cancel): Promise<ArtifactEvent> {
  try {
    return { type: 'artifact', path, bytes: await files.read(path, cancel) };
  } catch (error) {
    return missed(path, error);
  }
}

function missed(path: string, reason: unknown): ArtifactEvent {
  return { type: 'artifact-missed', path, reason: typeof reason === 'string' ? reason : reasonOf(reason) };
}
