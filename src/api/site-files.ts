/**
 * The documentation, as `scripts/build-site.ts` built it. Its pages may run the scripts that are in them and those of
 * this server, and load nothing from anywhere else.
 */
import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { ApiEnv } from './environment.ts';
import { createFileSender, keptForever, typeOf } from './static-files.ts';

export function serveSite(app: OpenAPIHono<ApiEnv>, folder: string): void {
  const send = createFileSender();
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => typeOf(name) !== undefined && !name.startsWith('.'),
  );
  for (const name of names) {
    const path = join(folder, name);
    if (!name.endsWith('.html'))
      app.get(`/docs/${name}`, (context) =>
        send(context, path, name.startsWith('assets/') ? keptForever : { 'Cache-Control': 'no-cache' }),
      );
    else
      for (const address of addressesOf(name))
        app.get(address, (context) =>
          send(context, path, { 'Content-Security-Policy': policyOf(path), 'Cache-Control': 'no-cache' }),
        );
  }
  app.get('/docs', (context) => context.redirect('/docs/'));
  if (names.includes('llms.txt'))
    app.get('/llms.txt', (context) =>
      send(context, join(folder, 'llms.txt'), { 'Cache-Control': 'no-cache' }),
    );
}

/** Links between pages have no `.html`. */
function addressesOf(name: string): readonly string[] {
  const page = name.slice(0, -'.html'.length);
  if (page === 'index') return ['/docs/', '/docs/index.html'];
  return [`/docs/${name}`, `/docs/${page.replace(/\/index$/, '/')}`];
}

function policyOf(page: string): string {
  const inline = [
    ...readFileSync(page, 'utf8').matchAll(/<script(?![^>]*\bsrc=)[^>]*>([\s\S]*?)<\/script>/g),
  ];
  const hashes = inline.map(([, script = '']) => `'sha256-${hash('sha256', script, 'base64')}'`);
  return [
    "default-src 'none'",
    `script-src 'self' ${[...new Set(hashes)].join(' ')}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}
