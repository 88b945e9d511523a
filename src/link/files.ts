import { rm } from 'node:fs/promises';
import type { ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { packFolder, unpackFolder } from '../base/archive.ts';
import { type Cancel, throwIfCancelled } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import { DiskBudget, saveContent } from '../base/sparse.ts';
import type { FileFacts, Files, Range, WatchEvent } from '../seams/files.ts';
import type { Link } from './link.ts';
import { chunksOf, errorFrom, parseJson } from './request.ts';
import { type UploadContent, upload } from './upload.ts';

const largestRead = 64 * 1024 ** 2;
const largestAnswer = 64 * 1024;
const treeDeadlineMs = 600_000;
/** A guest that sends nothing for this long in the middle of a file has stopped. */
const longestSilenceMs = 60_000;

const factsSchema = z.object({
  path: z.string(),
  name: z.string(),
  type: z.enum(['file', 'directory', 'symlink', 'socket', 'pipe', 'device']),
  size: z.number(),
  mode: z.number(),
  mtimeMs: z.number(),
  uid: z.number(),
  gid: z.number(),
  target: z.string().nullable(),
});
const listingSchema = z.object({ entries: z.array(factsSchema), truncated: z.boolean() });
const matchSchema = z.object({ path: z.string(), line: z.number(), column: z.number(), text: z.string() });
const watchSchema = z.object({
  type: z.enum(['ready', 'create', 'modify', 'remove', 'move', 'overflow']),
  path: z.string().default(''),
});
const nothing = z.unknown();

/** Reads or changes one name: the usual deadline is enough. */
function isQuick(op: string): boolean {
  return ['stat', 'exists', 'mkdir', 'chmod'].includes(op);
}

/** Reach of a call: the workdir only, whatever links exist, or everything that the sandbox's user may access. */
export type FileScope = 'workspace' | 'sandbox';

/** The files of a sandbox, each call one request to its guest. */
export function guestFiles(link: Link, scope: FileScope): Files {
  const ask = <T>(
    op: string,
    schema: z.ZodType<T>,
    { signal, ...body }: Record<string, unknown> & Cancel,
  ): Promise<T> =>
    link.call('POST', `/v1/fs/${op}`, schema, {
      body: { scope, ...body },
      ...(isQuick(op) ? {} : { deadlineMs: treeDeadlineMs }),
      signal,
    });
  const at = (resource: string, path: string, more: Record<string, string | undefined> = {}): string => {
    const query = new URLSearchParams({ path, scope });
    for (const [key, value] of Object.entries(more)) if (value !== undefined) query.set(key, value);
    return `/v1/${resource}?${query}`;
  };
  const send = (
    method: string,
    target: string,
    content: UploadContent,
    { signal }: Cancel,
  ): Promise<Buffer> => upload(link, method, target, content, signal);
  const read = <T>(answer: Buffer, schema: z.ZodType<T>): Promise<T> =>
    link.guarded(async () => parseJson(answer, schema));
  const stream = (path: string, { offset, length, signal }: Range = {}): AsyncIterable<Uint8Array> =>
    download(
      link,
      at('file', path, { offset: offset?.toString(), length: length?.toString() }),
      signal,
      longestSilenceMs,
    );

  const files: Files = {
    stream,
    async read(path, options) {
      const chunks: Uint8Array[] = [];
      let total = 0;
      for await (const chunk of stream(path, options)) {
        total += chunk.length;
        if (total > largestRead) {
          throw new GeodeError(
            'too_large',
            `${path} is larger than ${largestRead} bytes; read it with stream().`,
          );
        }
        chunks.push(chunk);
      }
      return Buffer.concat(chunks, total);
    },
    async readText(path, options) {
      return new TextDecoder().decode(await files.read(path, options));
    },
    async write(path, content, { mode, exclusive, ...cancel } = {}) {
      const target = at('file', path, {
        mode: mode?.toString(8),
        create: exclusive ? 'exclusive' : undefined,
      });
      return read(await send('PUT', target, content, cancel), factsSchema);
    },
    async append(path, content, cancel = {}) {
      return read(await send('POST', at('file/append', path), content, cancel), factsSchema);
    },
    stat: (path, options = {}) => ask<FileFacts>('stat', factsSchema, { path, ...options }),
    async exists(path, options = {}) {
      return (await ask('exists', z.object({ exists: z.boolean() }), { path, ...options })).exists;
    },
    list: (path, options = {}) => ask('list', listingSchema, { path, ...options }),
    async mkdir(path, options = {}) {
      await ask('mkdir', nothing, { path, ...options });
    },
    async move(path, to, options = {}) {
      await ask('move', nothing, { path, to, ...options });
    },
    async copy(path, to, options = {}) {
      await ask('copy', nothing, { path, to, ...options });
    },
    async remove(path, options = {}) {
      return (await ask('remove', z.object({ removed: z.boolean() }), { path, ...options })).removed;
    },
    async chmod(path, mode, options = {}) {
      await ask('chmod', nothing, { path, mode, ...options });
    },
    search: (path, pattern, options = {}) => ask('search', listingSchema, { path, pattern, ...options }),
    grep(path, pattern, options = {}) {
      const schema = z.object({ matches: z.array(matchSchema), truncated: z.boolean() });
      return ask('grep', schema, { path, pattern, ...options });
    },
    async replace(path, pattern, replacement, options = {}) {
      const schema = z.object({ replaced: z.number() });
      return (await ask('replace', schema, { path, pattern, replacement, ...options })).replaced;
    },
    watch: (path, { recursive = false, onReady, signal } = {}) =>
      watch(link, at('watch', path, { recursive: String(recursive) }), onReady, signal),
    archive: (path, { signal } = {}) => download(link, at('tar', path), signal, longestSilenceMs),
    async extract(path, tar, cancel = {}) {
      const answer = await send('PUT', at('tar', path), tar, cancel);
      return (await read(answer, z.object({ entries: z.number() }))).entries;
    },
    upload: (hostFolder, path, cancel = {}) => files.extract(path, packFolder(hostFolder), cancel),
    download: (path, hostFolder, { maxBytes, signal } = {}) =>
      unpackFolder(download(link, at('tar', path, { holes: 'true' }), signal, longestSilenceMs), hostFolder, {
        maxBytes,
      }),
    async save(path, hostFile, { mode = 0o600, maxBytes, signal } = {}) {
      const budget = new DiskBudget(maxBytes);
      const answer = await answered(link, at('file', path, { holes: 'true' }), signal);
      const sparse = answer.headers['x-sparse'] === 'true';
      try {
        await saveContent(contentOf(answer, signal, longestSilenceMs), {
          path: hostFile,
          mode,
          budget,
          sparse,
        });
      } catch (error) {
        // Do not delete an existing file.
        if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST'))
          await rm(hostFile, { force: true });
        throw error;
      } finally {
        answer.stream.destroy();
      }
    },
  };
  return files;
}

async function* download(
  link: Link,
  target: string,
  signal?: AbortSignal,
  silenceMs?: number,
): AsyncGenerator<Uint8Array> {
  const answer = await answered(link, target, signal);
  try {
    yield* contentOf(answer, signal, silenceMs);
  } finally {
    answer.stream.destroy();
  }
}

interface Answer {
  readonly stream: ClientHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  /** Why the content ends too early, if the guest reports it after the content. */
  fault(): GeodeError | undefined;
}

/** The caller destroys the stream. */
async function answered(link: Link, target: string, signal?: AbortSignal): Promise<Answer> {
  throwIfCancelled(signal, 'The download');
  const session = await link.session({ signal });
  const stream = link.stream(session, 'GET', target, signal);
  let late: string | undefined;
  stream.once('trailers', (trailers) => {
    late = String(trailers['x-fault'] ?? '');
  });
  try {
    stream.end();
    const headers = await link.answer(stream, { signal });
    return {
      stream,
      headers,
      fault: () => (late ? errorFrom(Buffer.from(late, 'base64'), 200) : undefined),
    };
  } catch (error) {
    stream.destroy();
    throwIfCancelled(signal, 'The download');
    throw error;
  }
}

async function* contentOf(
  { stream, fault }: Answer,
  signal?: AbortSignal,
  silenceMs?: number,
): AsyncGenerator<Uint8Array> {
  try {
    yield* chunksOf(stream, silenceMs);
    // The trailers come after the last byte.
    await nextTurn();
    const failure = fault();
    if (failure !== undefined) throw failure;
  } catch (error) {
    throwIfCancelled(signal, 'The download');
    throw error;
  }
}

/** Newline-delimited JSON with a maximum line length; skips `ready`, which comes before the first change. */
async function* watch(
  link: Link,
  target: string,
  onReady?: () => void,
  signal?: AbortSignal,
): AsyncGenerator<WatchEvent> {
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of download(link, target, signal)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > largestAnswer)
      throw new GeodeError('guest_protocol', 'The guest sent a line that is too long.');
    for (const line of lines) {
      const { type, path } = parseJson(Buffer.from(line), watchSchema);
      if (type === 'ready') onReady?.();
      else yield { type, path };
    }
  }
}
