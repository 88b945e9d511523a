/** Files of a sandbox, as the library's own `Files`, over HTTP. */

import type { Cancel } from '../base/cancel.ts';
import { isGeodeError } from '../base/errors.ts';
import { fromWire, type Wire } from '../contract/old-names.ts';
import type { FileFacts, Files, GrepMatch, Listing, Range, WatchEvent } from '../seams/files.ts';
import { streamEvents } from './events.ts';
import { ask, type Connection, send } from './send.ts';
import type { Answer } from './transport.ts';

/**
 * Host paths are paths of the host's machine; only its operator may use them, over its own socket. A file
 * may be uploaded as well as a folder.
 */
export type RemoteFiles = Files;

export function remoteFiles(
  connection: Connection,
  sandboxPath: string,
  where: 'workspace' | 'root',
): RemoteFiles {
  const base = `${sandboxPath}/files`;
  const root = where === 'root' ? true : undefined;
  const content = `${base}/content`;
  const read = async (path: string, { offset = 0, length, signal }: Range) => {
    const range = rangeHeader(offset, length);
    return send(connection, 'GET', content, {
      query: { path, root },
      ...(range !== undefined && { headers: { range } }),
      accepted: [416],
      signal,
    });
  };
  const change = async (verb: string, json: object, { signal }: Cancel = {}) => {
    await send(connection, 'POST', `${base}/${verb}`, { json: { ...json, root }, signal });
  };
  const get = <T>(path: string, query: object, { signal }: Cancel = {}) =>
    ask<T>(connection, 'GET', path, { query: { ...query, root }, signal });

  return {
    async read(path, options = {}) {
      if (options.length === 0) return new Uint8Array();
      const response = await read(path, options);
      // Behind the end there is nothing to read, which is no mistake.
      return response.status === 416 ? new Uint8Array() : new Uint8Array(await response.arrayBuffer());
    },
    async readText(path, options) {
      return new TextDecoder().decode(await this.read(path, options));
    },
    async *stream(path, options = {}) {
      if (options.length === 0) return;
      const response = await read(path, options);
      if (response.status !== 416) yield* bytesOf(response);
    },
    async write(path, body, { mode, exclusive, signal } = {}) {
      const query = { path, root, mode, exclusive };
      return fromWire(await ask<Wire<FileFacts>>(connection, 'PUT', content, { query, body, signal }));
    },
    async append(path, body, { signal } = {}) {
      const query = { path, root };
      return fromWire(await ask<Wire<FileFacts>>(connection, 'POST', content, { query, body, signal }));
    },
    async stat(path, { follow, signal } = {}) {
      return fromWire(await get<Wire<FileFacts>>(`${base}/stat`, { path, follow }, { signal }));
    },
    async exists(path, options) {
      try {
        await this.stat(path, options);
        return true;
      } catch (error) {
        if (isGeodeError(error, 'file_not_found')) return false;
        throw error;
      }
    },
    async list(path, { depth, limit, signal } = {}) {
      return fromWire(await get<Wire<Listing>>(base, { path, depth, limit }, { signal }));
    },
    mkdir: (path, { mode, ...cancel } = {}) => change('mkdir', { path, mode }, cancel),
    move: (path, to, { overwrite, ...cancel } = {}) => change('move', { path, to, overwrite }, cancel),
    copy: (path, to, { overwrite, ...cancel } = {}) => change('copy', { path, to, overwrite }, cancel),
    async remove(path, { signal } = {}) {
      const query = { path, root };
      return (await ask<{ removed: boolean }>(connection, 'DELETE', base, { query, signal })).removed;
    },
    chmod: (path, mode, cancel) => change('chmod', { path, mode }, cancel),
    async search(path, pattern, { limit, signal } = {}) {
      return fromWire(await get<Wire<Listing>>(`${base}/search`, { path, pattern, limit }, { signal }));
    },
    grep(path, pattern, { regex, ignoreCase, include, limit, signal } = {}) {
      const query = { path, pattern, regex, ignore_case: ignoreCase, include, limit };
      return get<{ matches: GrepMatch[]; truncated: boolean }>(`${base}/grep`, query, { signal });
    },
    async replace(path, pattern, replacement, { regex, expect, signal } = {}) {
      const json = { path, root, pattern, replacement, regex, expect };
      return (await ask<{ count: number }>(connection, 'POST', `${base}/replace`, { json, signal })).count;
    },
    watch: (path, { recursive, signal } = {}) =>
      streamEvents<WatchEvent>(connection, 'GET', `${base}/watch`, {
        query: { path, root, recursive },
        signal,
      }),
    async *archive(path, { signal } = {}) {
      const sending = { query: { path, root }, accept: 'application/x-tar', signal };
      yield* bytesOf(await send(connection, 'GET', `${base}/archive`, sending));
    },
    async extract(path, tar, { signal } = {}) {
      const headers = { 'content-type': 'application/x-tar' };
      const sending = { query: { path, root }, body: tar, headers, signal };
      return (await ask<{ count: number }>(connection, 'PUT', `${base}/archive`, sending)).count;
    },
    async upload(from, path, { signal } = {}) {
      const sending = { json: { from, path, root }, signal };
      return (await ask<{ count: number }>(connection, 'POST', `${base}/upload`, sending)).count;
    },
    async download(path, to, { maxBytes, signal } = {}) {
      const sending = { json: { path, root, to, max_bytes: maxBytes }, signal };
      return (await ask<{ count: number }>(connection, 'POST', `${base}/download`, sending)).count;
    },
    save: (path, to, { mode, maxBytes, ...cancel } = {}) =>
      change('save', { path, to, mode, max_bytes: maxBytes }, cancel),
  };
}

function rangeHeader(offset: number, length: number | undefined): string | undefined {
  if (offset === 0 && length === undefined) return undefined;
  return `bytes=${offset}-${length === undefined ? '' : offset + length - 1}`;
}

async function* bytesOf({ body }: Answer): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
