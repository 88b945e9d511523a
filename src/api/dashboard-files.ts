/**
 * The dashboard's built files. The page may load scripts, styles and data from this server only, and nothing may
 * frame it. A style that a library adds needs the nonce of this answer.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { ApiEnv } from './environment.ts';

interface Asset {
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly packed: Uint8Array<ArrayBuffer>;
}

export function serveDashboard(app: OpenAPIHono<ApiEnv>, folder: string): void {
  const page = readFileSync(join(folder, 'index.html'), 'utf8');
  app.get('/', (context) => {
    const nonce = randomBytes(16).toString('base64');
    return context.html(page.replaceAll('GEODE_NONCE', nonce), 200, {
      'Content-Security-Policy': policyWith(nonce),
      'Cache-Control': 'no-store',
    });
  });
  const read = new Map<string, Asset>();
  for (const name of readdirSync(join(folder, 'assets'))) {
    const type = types[extname(name)];
    if (type === undefined) continue;
    app.get(`/assets/${name}`, (context) => {
      const asset = read.get(name) ?? assetAt(join(folder, 'assets', name));
      read.set(name, asset);
      const isPacked = /\bgzip\b/.test(context.req.header('accept-encoding') ?? '');
      return context.body(isPacked ? asset.packed : asset.plain, 200, {
        'Content-Type': type,
        // The name contains a hash of the content.
        'Cache-Control': 'public, max-age=31536000, immutable',
        Vary: 'Accept-Encoding',
        ...(isPacked && { 'Content-Encoding': 'gzip' }),
      });
    });
  }
}

function assetAt(path: string): Asset {
  const plain = new Uint8Array(readFileSync(path));
  return { plain, packed: new Uint8Array(gzipSync(plain)) };
}

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

function policyWith(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}
