/**
 * The dashboard's built files. The page may load scripts, styles and data from this server only, and nothing may
 * frame it. A style that a library adds needs the nonce of this answer.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { ApiEnv } from './environment.ts';
import { createFileSender, keptForever, typeOf } from './static-files.ts';

export function serveDashboard(app: OpenAPIHono<ApiEnv>, folder: string): void {
  const page = readFileSync(join(folder, 'index.html'), 'utf8');
  app.get('/', (context) => {
    const nonce = randomBytes(16).toString('base64');
    return context.html(page.replaceAll('GEODE_NONCE', nonce), 200, {
      'Content-Security-Policy': policyWith(nonce),
      'Cache-Control': 'no-store',
    });
  });
  const send = createFileSender();
  for (const name of readdirSync(join(folder, 'assets')))
    if (typeOf(name) !== undefined)
      app.get(`/assets/${name}`, (context) => send(context, join(folder, 'assets', name), keptForever));
}

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
