/** `/files`: reading and writing whole files. */
import { basename } from 'node:path/posix';
import type { Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { ApiEnv } from '../../api/environment.ts';
import { signalOf } from '../../api/streams.ts';
import { GeodeError } from '../../base/errors.ts';
import type { PersistentSandbox } from '../../seams/persistent.ts';
import { absolutePath, shownPath } from './paths.ts';
import { checkFileUser, type ReachSandbox } from './reach.ts';

/** A form is held in memory while it is read; larger files are sent as a stream. */
const mostFormBytes = 64 * 1024 ** 2;

const limitForm = bodyLimit({
  maxSize: mostFormBytes,
  onError: () => {
    throw new GeodeError('too_large', `A form may have at most ${mostFormBytes} bytes.`, {
      hint: 'Send larger files as a stream (useOctetStream).',
    });
  },
});

export function fileRoutes(door: Hono<ApiEnv>, reach: ReachSandbox): void {
  door.get('/files', async (context) => {
    const sandbox = await reach(context);
    checkFileUser(context);
    const path = context.req.query('path') ?? '';
    const place = absolutePath(path, sandbox);
    const signal = signalOf(context);
    const { type, size } = await sandbox.rootFiles.stat(place, { follow: true, signal });
    if (type !== 'file') throw new GeodeError('not_a_file', `${path} is not a file.`);
    context.header('Content-Type', 'application/octet-stream');
    context.header('Content-Length', String(size));
    return context.body(ReadableStream.from(sandbox.rootFiles.stream(place, { length: size, signal })), 200);
  });
  door.use('/files', (context, next) => (isForm(context) ? limitForm(context, next) : next()));
  door.post('/files', async (context) => {
    const sandbox = await reach(context);
    checkFileUser(context);
    const written = isForm(context)
      ? await writeForm(context, sandbox)
      : [await write(context, sandbox, context.req.query('path') ?? '', bodyOf(context))];
    return context.json(written, 200);
  });
}

function isForm({ req }: Context<ApiEnv>): boolean {
  return req.header('content-type')?.startsWith('multipart/form-data') === true;
}

async function writeForm(context: Context<ApiEnv>, sandbox: PersistentSandbox): Promise<readonly object[]> {
  const form = await context.req.raw.formData().catch((error: unknown) => {
    throw new GeodeError('invalid_input', 'The form cannot be read.', { cause: error });
  });
  const files = form.getAll('file').filter((part) => part instanceof File);
  const path = context.req.query('path');
  if (files.length === 0 || (path !== undefined && files.length > 1))
    throw new GeodeError('invalid_input', `The form has ${files.length} files.`);
  const written: object[] = [];
  for (const file of files)
    written.push(await write(context, sandbox, path ?? file.name, new Uint8Array(await file.arrayBuffer())));
  return written;
}

async function write(
  context: Context<ApiEnv>,
  sandbox: PersistentSandbox,
  path: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
): Promise<object> {
  if (path === '') throw new GeodeError('invalid_input', 'The path of the file is missing.');
  const place = absolutePath(path, sandbox);
  await sandbox.rootFiles.write(place, content, { signal: signalOf(context) });
  return { name: basename(place), type: 'file', path: shownPath(place, sandbox) };
}

/** A lost connection makes the write fail, so that half a file is never taken for a complete one. */
async function* bodyOf({ req }: Context<ApiEnv>): AsyncGenerator<Uint8Array> {
  const { body } = req.raw;
  const encoding = req.header('content-encoding') ?? 'identity';
  if (encoding !== 'identity' && encoding !== 'gzip')
    throw new GeodeError('unsupported_type', `The encoding ${encoding} is not supported: use gzip, or none.`);
  if (body === null) return;
  if (encoding === 'identity') return yield* body;
  try {
    yield* body.pipeThrough(new DecompressionStream('gzip'));
  } catch (error) {
    if (req.raw.signal.aborted) throw error;
    throw new GeodeError('invalid_input', 'The file is not complete gzip.', { cause: error });
  }
}
