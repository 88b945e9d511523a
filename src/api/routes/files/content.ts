/** The content of files, as streams: whole, a range, or a folder as a tar. */
import type { Context } from 'hono';
import { countSchema, fileSchema, pathQuery, writeQuery } from '../../../contract/files.ts';
import { toWire } from '../../../contract/names.ts';
import { problemSchema } from '../../../contract/problem.ts';
import { chatParams } from '../../../contract/sandboxes.ts';
import { GeodeError } from '../../../core/errors.ts';
import type { ApiEnv } from '../../environment.ts';
import { signalOf } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import { binary, bodyRefusals, defineRoute, json, sandboxRefusals, security } from '../../route.ts';
import { filesFor } from './files-for.ts';

const path = '/api/v1/sandboxes/{chat}/files';

export const read = defineRoute(
  {
    method: 'get',
    path: `${path}/content`,
    summary: 'Read a file, or a range of it',
    description: '`Range: bytes=…` with one range is answered with 206.',
    tags: ['files'],
    security,
    middleware: requireScope('sandboxes:read'),
    request: { params: chatParams, query: pathQuery },
    responses: {
      200: binary('The file.'),
      206: binary('The range.'),
      416: json('The range is behind the end.', problemSchema),
      ...sandboxRefusals,
    },
  },
  async (context) => {
    const { path: name, root } = context.req.valid('query');
    const files = await filesFor(context, context.req.valid('param').chat, root, 'look');
    const signal = signalOf(context);
    const { type, size } = await files.stat(name, { follow: true, signal });
    if (type !== 'file') throw new GeodeError('not_a_file', `${JSON.stringify(name)} is a ${type}`);
    const range = rangeOf(context.req.header('range'), size);
    context.header('Accept-Ranges', 'bytes');
    context.header('Content-Type', 'application/octet-stream');
    if (range === undefined) {
      context.header('Content-Length', String(size));
      return context.body(streamOf(files.stream(name, { length: size, signal })), 200);
    }
    const { offset, length } = range;
    context.header('Content-Range', `bytes ${offset}-${offset + length - 1}/${size}`);
    context.header('Content-Length', String(length));
    return context.body(streamOf(files.stream(name, { offset, length, signal })), 206);
  },
);

/** Undefined where there is none, or one that this server need not know: then the whole file is the answer. */
function rangeOf(header: string | undefined, size: number): { offset: number; length: number } | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  const offset = first === '' ? Math.max(size - Number(last), 0) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (offset <= end) return { offset, length: end - offset + 1 };
  throw new GeodeError('invalid_range', `The file has ${size} bytes`);
}

export const write = defineRoute(
  {
    method: 'put',
    path: `${path}/content`,
    summary: 'Write a file in one step',
    description: 'Missing folders are made. A write that is cut off leaves what was there.',
    tags: ['files'],
    security,
    middleware: requireScope('sandboxes:write'),
    request: { params: chatParams, query: writeQuery, body: { ...binary('The content.'), required: true } },
    responses: { 200: json('The file.', fileSchema), ...sandboxRefusals, ...bodyRefusals },
  },
  async (context) => {
    const { path: name, root, mode, exclusive } = context.req.valid('query');
    const files = await filesFor(context, context.req.valid('param').chat, root, 'change');
    const options = { exclusive, ...(mode !== undefined && { mode }), signal: signalOf(context) };
    return context.json(toWire(await files.write(name, bodyOf(context), options)), 200);
  },
);

export const append = defineRoute(
  {
    method: 'post',
    path: `${path}/content`,
    summary: 'Append to a file',
    tags: ['files'],
    security,
    middleware: requireScope('sandboxes:write'),
    request: { params: chatParams, query: pathQuery, body: { ...binary('The content.'), required: true } },
    responses: { 200: json('The file.', fileSchema), ...sandboxRefusals, ...bodyRefusals },
  },
  async (context) => {
    const { path: name, root } = context.req.valid('query');
    const files = await filesFor(context, context.req.valid('param').chat, root, 'change');
    return context.json(
      toWire(await files.append(name, bodyOf(context), { signal: signalOf(context) })),
      200,
    );
  },
);

const tar = { 'application/x-tar': binary('').content['application/octet-stream'] };

export const archive = defineRoute(
  {
    method: 'get',
    path: `${path}/archive`,
    summary: 'Read a folder as a tar; links travel as links',
    tags: ['files'],
    security,
    middleware: requireScope('sandboxes:read'),
    request: { params: chatParams, query: pathQuery },
    responses: { 200: { description: 'The tar.', content: tar }, ...sandboxRefusals },
  },
  async (context) => {
    const { path: name, root } = context.req.valid('query');
    const files = await filesFor(context, context.req.valid('param').chat, root, 'look');
    const signal = signalOf(context);
    const { type } = await files.stat(name, { follow: true, signal });
    if (type !== 'directory') throw new GeodeError('not_a_file', `${JSON.stringify(name)} is not a folder`);
    context.header('Content-Type', 'application/x-tar');
    return context.body(streamOf(files.archive(name, { signal })), 200);
  },
);

export const extract = defineRoute(
  {
    method: 'put',
    path: `${path}/archive`,
    summary: 'Unpack a tar below a folder, whole or not at all',
    tags: ['files'],
    security,
    middleware: requireScope('sandboxes:write'),
    request: {
      params: chatParams,
      query: pathQuery,
      body: { description: 'The tar.', content: tar, required: true },
    },
    responses: { 200: json('How many entries it had.', countSchema), ...sandboxRefusals, ...bodyRefusals },
  },
  async (context) => {
    const { path: name, root } = context.req.valid('query');
    const files = await filesFor(context, context.req.valid('param').chat, root, 'change');
    const count = await files.extract(name, bodyOf(context), { signal: signalOf(context) });
    return context.json({ count }, 200);
  },
);

/** The body as it comes. A caller that is cut off makes the write fail, so that nothing half is taken for whole. */
async function* bodyOf({ req }: Context<ApiEnv>): AsyncGenerator<Uint8Array> {
  if (req.raw.body !== null) yield* req.raw.body;
}

/** Pulled by the reader; leaving it ends the source. */
function streamOf(source: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  return ReadableStream.from(source);
}
