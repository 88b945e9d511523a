/** Files of a sandbox, as the library's own `Files`, over HTTP. */
import { isGeodeError } from '../base/errors.ts';
import type { Files, Range } from '../seams/files.ts';
import { callsOf } from './calls.ts';
import type { ApiConnection } from './send.ts';
import type { HttpAnswer } from './transport.ts';

/**
 * Host paths are paths of the host's machine; only its operator may use them, over its own socket. Files and folders
 * can be uploaded.
 */
export type RemoteFiles = Files;

export function remoteFiles(
  connection: ApiConnection,
  chat: string,
  where: 'workspace' | 'root',
): RemoteFiles {
  const calls = callsOf(connection, 'files');
  const root = where === 'root' ? true : undefined;
  const read = (path: string, { offset = 0, length, signal }: Range) =>
    calls.read(chat, { path, root, range: rangeHeader(offset, length), signal });

  return {
    async read(path, options = {}) {
      if (options.length === 0) return new Uint8Array();
      const response = await read(path, options);
      // Reading after the end returns nothing and is not an error.
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
    write: (path, body, options) => calls.write(chat, body, { path, root, ...options }),
    append: (path, body, options) => calls.append(chat, body, { path, root, ...options }),
    stat: (path, options) => calls.stat(chat, { path, root, ...options }),
    async exists(path, options) {
      try {
        await this.stat(path, options);
        return true;
      } catch (error) {
        if (isGeodeError(error, 'file_not_found')) return false;
        throw error;
      }
    },
    list: (path, options) => calls.list(chat, { path, root, ...options }),
    mkdir: (path, { signal, ...options } = {}) => calls.mkdir(chat, { path, root, ...options }, { signal }),
    move: (path, to, { signal, ...options } = {}) =>
      calls.move(chat, { path, root, to, ...options }, { signal }),
    copy: (path, to, { signal, ...options } = {}) =>
      calls.copy(chat, { path, root, to, ...options }, { signal }),
    remove: (path, options) => calls.remove(chat, { path, root, ...options }),
    chmod: (path, mode, cancel) => calls.chmod(chat, { path, root, mode }, cancel),
    search: (path, pattern, options) => calls.search(chat, { path, root, pattern, ...options }),
    grep: (path, pattern, options) => calls.grep(chat, { path, root, pattern, ...options }),
    replace: (path, pattern, replacement, { signal, ...options } = {}) =>
      calls.replace(chat, { path, root, pattern, replacement, ...options }, { signal }),
    watch: (path, options) => calls.watch(chat, { path, root, ...options }),
    async *archive(path, options) {
      yield* bytesOf(await calls.archive(chat, { path, root, ...options }));
    },
    extract: (path, tar, options) => calls.extract(chat, tar, { path, root, ...options }),
    upload: (from, path, cancel) => calls.upload(chat, { from, path, root }, cancel),
    download: (path, to, { signal, ...options } = {}) =>
      calls.download(chat, { path, root, to, ...options }, { signal }),
    async save(path, to, { signal, ...options } = {}) {
      await calls.save(chat, { path, root, to, ...options }, { signal });
    },
  };
}

function rangeHeader(offset: number, length: number | undefined): string | undefined {
  if (offset === 0 && length === undefined) return undefined;
  return `bytes=${offset}-${length === undefined ? '' : offset + length - 1}`;
}

async function* bytesOf({ body }: HttpAnswer): AsyncGenerator<Uint8Array> {
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
