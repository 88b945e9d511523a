/** The resources of a session: the files of its workspace and the entries of its user's memory. */
import { posix } from 'node:path';
import { ResourceNotFoundError } from '@modelcontextprotocol/server';
import type { Cancel } from '../../base/cancel.ts';
import { GeodeError, isGeodeError } from '../../base/errors.ts';
import type { GeodeClient } from '../../client/client.ts';
import type { Files } from '../../seams/files.ts';

const mostFiles = 1_000;
const deepest = 8;
const entriesOfPage = 100;
const largestBytes = 4 * 1024 * 1024;
const entryPrefix = 'memory://entry/';

interface ListedResource {
  readonly uri: string;
  readonly name: string;
  readonly mimeType?: string;
  readonly size?: number;
}

interface ResourcePage {
  readonly resources: readonly ListedResource[];
  readonly nextCursor?: string;
}

/** Text, or bytes in base64. */
type ResourceContent = { readonly uri: string; readonly mimeType: string } & (
  | { readonly text: string }
  | { readonly blob: string }
);

export interface SessionResources {
  /** Files first, then memory entries. Throws `invalid_input` for a cursor that no page returned. */
  list(cursor?: string, options?: Cancel): Promise<ResourcePage>;
  /** The SDK's own error for a missing resource. */
  read(uri: string, options?: Cancel): Promise<ResourceContent>;
  /** The workspace path of a file's URI; undefined for anything else. */
  pathOf(uri: string): string | undefined;
}

export function sessionResources(
  files: Files,
  workdir: string,
  client: () => Promise<GeodeClient>,
): SessionResources {
  const uriOf = (path: string) => {
    const absolute = posix.resolve(workdir, path);
    return `file://${absolute.split('/').map(encodeURIComponent).join('/')}`;
  };
  const pathOf = (uri: string) => {
    const url = URL.canParse(uri) ? new URL(uri) : undefined;
    if (url?.protocol !== 'file:' || url.host !== '') return undefined;
    const path = posix.relative(workdir, decoded(url.pathname));
    return path === '' || path.startsWith('..') ? undefined : path;
  };
  return {
    pathOf,
    async list(cursor, cancel = {}) {
      if (cursor === undefined) {
        const { entries } = await files.list('.', { depth: deepest, limit: mostFiles, ...cancel });
        const listed = entries.filter(({ type }) => type === 'file');
        const resources = listed.map(({ path, size }) => ({ uri: uriOf(path), name: path, size }));
        return { resources, nextCursor: 'memory:0' };
      }
      const offset = Number(/^memory:(\d{1,9})$/.exec(cursor)?.[1] ?? Number.NaN);
      if (Number.isNaN(offset)) throw new GeodeError('invalid_input', `No page has the cursor ${cursor}.`);
      const page = await (await client()).list({ limit: entriesOfPage, offset, ...cancel });
      const resources = page.entries.map(({ id, content }) => ({
        uri: `${entryPrefix}${encodeURIComponent(id)}`,
        name: content.slice(0, 80),
        mimeType: 'text/plain',
      }));
      const next = offset + resources.length;
      return { resources, ...(next < page.total && { nextCursor: `memory:${next}` }) };
    },
    async read(uri, cancel = {}) {
      try {
        const id = entryIdOf(uri);
        if (id !== undefined) {
          const { content } = await (await client()).get(id, cancel);
          return { uri, mimeType: 'text/plain', text: content };
        }
        const path = pathOf(uri);
        if (path === undefined) throw new ResourceNotFoundError(uri);
        return { uri, ...contentOf(await bytesOf(files, path, cancel)) };
      } catch (error) {
        if (isGeodeError(error, 'file_not_found') || isGeodeError(error, 'entry_not_found'))
          throw new ResourceNotFoundError(uri);
        throw error;
      }
    },
  };
}

/** The entry id of a memory URI; undefined for other URIs. */
export function entryIdOf(uri: string): string | undefined {
  return uri.startsWith(entryPrefix) ? decoded(uri.slice(entryPrefix.length)) : undefined;
}

async function bytesOf(files: Files, path: string, cancel: Cancel): Promise<Uint8Array> {
  const { size, type } = await files.stat(path, cancel);
  if (type !== 'file') throw new GeodeError('not_a_file', `${path} is not a file.`);
  if (size > largestBytes)
    throw new GeodeError(
      'too_large',
      `${path} has ${size} bytes; the maximum for one read is ${largestBytes}.`,
    );
  return files.read(path, { length: largestBytes, ...cancel });
}

function contentOf(
  bytes: Uint8Array,
): { mimeType: string; text: string } | { mimeType: string; blob: string } {
  try {
    return { mimeType: 'text/plain', text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { mimeType: 'application/octet-stream', blob: Buffer.from(bytes).toString('base64') };
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
