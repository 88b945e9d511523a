/** Raw bytes: complete, or the one requested range. */
import type { Context } from 'hono';
import { GeodeError } from '../base/errors.ts';
import type { Operation } from '../contract/operation.ts';
import type { ApiEnv } from './environment.ts';

export const anyBytes = 'application/octet-stream';

export interface Bytes {
  /** Left out if it becomes known only with the last byte. */
  readonly size?: number;
  /** Read on demand; leaving it ends the source. */
  read(range: { readonly offset?: number; readonly length?: number }): AsyncIterable<Uint8Array>;
}

export function giveBytes(
  context: Context<ApiEnv>,
  { type, ranges }: NonNullable<Operation['gives']>,
  { size, read }: Bytes,
): Response {
  context.header('Content-Type', type ?? anyBytes);
  if (size === undefined) return context.body(ReadableStream.from(read({})), 200);
  const range = ranges ? rangeOf(context.req.header('range'), size) : undefined;
  if (ranges) context.header('Accept-Ranges', 'bytes');
  if (range === undefined) {
    context.header('Content-Length', String(size));
    return context.body(ReadableStream.from(read({ length: size })), 200);
  }
  const { offset, length } = range;
  context.header('Content-Range', `bytes ${offset}-${offset + length - 1}/${size}`);
  context.header('Content-Length', String(length));
  return context.body(ReadableStream.from(read({ offset, length })), 206);
}

/** Undefined without a range, or for one that this server does not support: then the answer is the whole file. */
function rangeOf(header: string | undefined, size: number): { offset: number; length: number } | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  const offset = first === '' ? Math.max(size - Number(last), 0) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (offset <= end) return { offset, length: end - offset + 1 };
  throw new GeodeError('invalid_range', `The file has ${size} bytes`);
}
