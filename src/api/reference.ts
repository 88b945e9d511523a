/** The interactive reference page. Its assets are part of this installation: it needs no other server. */
import { readFile } from 'node:fs/promises';
import { Hono } from 'hono';
import { secureHeaders } from 'hono/secure-headers';
import type { ApiEnv } from './environment.ts';

export function reference(): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();
  app.use(
    secureHeaders({
      strictTransportSecurity: false,
      contentSecurityPolicy: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'", "'unsafe-inline'"],
        imgSrc: ["'self'", 'data:'],
        connectSrc: ["'self'"],
        frameAncestors: ["'none'"],
      },
    }),
  );
  app.get('/', (context) => context.html(page));
  app.get('/start.js', (context) => context.body(script, 200, { 'Content-Type': 'text/javascript' }));
  for (const { path, type, url } of assets()) {
    app.get(path, async (context) =>
      context.body(await readFile(new URL(url)), 200, {
        'Content-Type': type,
        'Cache-Control': 'max-age=3600',
      }),
    );
  }
  return app;
}

function assets() {
  return [
    {
      path: '/swagger-ui-bundle.js',
      type: 'text/javascript',
      url: import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js'),
    },
    { path: '/swagger-ui.css', type: 'text/css', url: import.meta.resolve('swagger-ui-dist/swagger-ui.css') },
  ];
}

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Geode API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/reference/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<script src="/reference/swagger-ui-bundle.js"></script>
<script src="/reference/start.js"></script>
</body>
</html>
`;

// The key that a person enters stays in the page's memory and is lost with it.
const script = `
if (matchMedia('(prefers-color-scheme: dark)').matches) document.documentElement.classList.add('dark-mode');
SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  persistAuthorization: false,
  tryItOutEnabled: true,
});
`;
