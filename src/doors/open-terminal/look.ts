/** Files and folders that a request reads. */
import type { Context } from 'hono';
import type { ApiEnv } from '../../api/environment.ts';
import { signalOf } from '../../api/streams.ts';
import { GeodeError, isGeodeError } from '../../base/errors.ts';
import type { FileFacts, Files } from '../../seams/files.ts';
import type { Places } from './place.ts';

interface Looked {
  readonly files: Files;
  readonly path: string;
}

/** The path of a request that only reads. Without a sandbox there is nothing to read. */
export async function lookedAt(context: Context<ApiEnv>, places: Places, given: string): Promise<Looked> {
  const path = places.resolve(context, given);
  const sandbox = await places.known(context);
  if (sandbox === undefined) throw new GeodeError('file_not_found', `There is no ${path}.`);
  return { files: sandbox.rootFiles, path };
}

/** Relative paths start in the session's folder, or in `from`. */
export async function fileAt(context: Context<ApiEnv>, places: Places, given: string, from?: string) {
  const looked = await lookedAt(context, places, places.resolve(context, given, from));
  const facts = await factsOf(looked.files, looked.path, signalOf(context));
  if (facts?.type === 'file') return { ...looked, size: facts.size };
  throw new GeodeError('file_not_found', 'File not found.');
}

export async function folderIn(
  context: Context<ApiEnv>,
  places: Places,
  given: string,
  otherwise = 'Directory not found',
): Promise<Looked> {
  const looked = await lookedAt(context, places, given);
  const facts = await factsOf(looked.files, looked.path, signalOf(context));
  if (facts?.type === 'directory') return looked;
  throw new GeodeError('file_not_found', otherwise);
}

/** Follows links; undefined if there is nothing. */
export async function factsOf(
  files: Files,
  path: string,
  signal: AbortSignal,
): Promise<FileFacts | undefined> {
  try {
    return await files.stat(path, { follow: true, signal });
  } catch (error) {
    if (isGeodeError(error, 'file_not_found') || isGeodeError(error, 'not_a_file')) return undefined;
    throw error;
  }
}
