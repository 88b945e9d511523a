/** Sends built files unchanged, compressed for clients that accept it. */
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Context } from 'hono';
import type { ApiEnv } from './environment.ts';

interface Asset {
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly packed: Uint8Array<ArrayBuffer>;
}

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.png': 'image/png',
  '.py': 'text/plain; charset=utf-8',
  '.sh': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.ts': 'text/plain; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
};

/** Undefined for a kind of file that is not sent. */
export function typeOf(name: string): string | undefined {
  return types[extname(name)];
}

/** Sends files of one folder. Each is read and compressed once, when it is first asked for. */
export function createFileSender(): (
  context: Context<ApiEnv>,
  path: string,
  headers: Readonly<Record<string, string>>,
) => Response {
  const read = new Map<string, Asset>();
  return (context, path, headers) => {
    const asset = read.get(path) ?? assetAt(path);
    read.set(path, asset);
    const isPacked = /\bgzip\b/.test(context.req.header('accept-encoding') ?? '');
    return context.body(isPacked ? asset.packed : asset.plain, 200, {
      'Content-Type': typeOf(path) ?? 'application/octet-stream',
      Vary: 'Accept-Encoding',
      ...(isPacked && { 'Content-Encoding': 'gzip' }),
      ...headers,
    });
  };
}

function assetAt(path: string): Asset {
  const plain = new Uint8Array(readFileSync(path));
  return { plain, packed: new Uint8Array(gzipSync(plain)) };
}

// The name of such a file contains a hash of its content.
export const keptForever = { 'Cache-Control': 'public, max-age=31536000, immutable' };
