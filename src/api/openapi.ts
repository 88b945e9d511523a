import type { OpenAPIHono } from '@hono/zod-openapi';
import type { ApiEnv } from './environment.ts';

/** The OpenAPI 3.1 document of all routes that the app has by now. */
export function describeApi(app: OpenAPIHono<ApiEnv>, version: string) {
  app.openAPIRegistry.registerComponent('securitySchemes', 'key', {
    type: 'http',
    scheme: 'bearer',
    description: 'A key that `geode keys create` made.',
  });
  const document = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Geode',
      version,
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
      description: 'What agents learned, found by meaning and by word.',
    },
    // Relative, so that the document is right under whatever name the server is reached.
    servers: [{ url: '/' }],
    tags: [
      { name: 'context', description: 'Entries of the memory of the user whose key asks.' },
      { name: 'memory', description: 'The store behind all memories.' },
      { name: 'keys', description: 'Who may ask, and for what.' },
      { name: 'server', description: 'How the server is doing.' },
    ],
  });
  const paths = Object.entries(document.paths ?? {});
  return { ...document, paths: Object.fromEntries(paths.map(([path, item]) => [openApiPath(path), item])) };
}

// `:id{[^]+}` is how the router is told that an id may have slashes and line ends.
function openApiPath(path: string): string {
  return path.replace(/:(\w+)\{.+\}/, '{$1}');
}
