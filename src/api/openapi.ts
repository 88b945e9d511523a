import type { OpenAPIHono } from '@hono/zod-openapi';
import type { ApiEnv } from './environment.ts';

/** The OpenAPI 3.1 document of all routes that the app has so far. */
export function describeApi(app: OpenAPIHono<ApiEnv>, version: string) {
  app.openAPIRegistry.registerComponent('securitySchemes', 'key', {
    type: 'http',
    scheme: 'bearer',
    description: 'A key made by `geode keys create`.',
  });
  const document = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Geode',
      version,
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
      description: 'Sandboxes for agents, code that runs in them, and a memory for what agents learn.',
    },
    // Relative, so that the document is correct under any name of the server.
    servers: [{ url: '/' }],
    tags: [
      {
        name: 'sandboxes',
        description: "Persistent sandboxes: one for each chat of the key's user.",
      },
      { name: 'processes', description: 'Commands in a sandbox, their input and output.' },
      { name: 'files', description: 'Files of a sandbox.' },
      { name: 'journals', description: 'Output of processes, with secrets hidden.' },
      { name: 'snapshots', description: 'Workspaces as they were.' },
      { name: 'checkpoints', description: 'Running sandboxes as they were, with their memory.' },
      { name: 'egress', description: 'Network policies, network requests and model costs.' },
      { name: 'webhooks', description: 'Signed calls of your own server about your sandboxes.' },
      { name: 'secrets', description: 'Credentials of bindings: set, never shown.' },
      { name: 'approvals', description: "Requests that wait for a person's decision." },
      { name: 'runs', description: 'Code executed once, in a fresh sandbox.' },
      { name: 'contexts', description: 'Interpreters that keep their variables between runs.' },
      { name: 'context', description: 'Entries of the memory of the user whose key asks.' },
      { name: 'memory', description: 'The store behind all memories.' },
      { name: 'chats', description: 'Chats with agents, the channels, and who may speak on them.' },
      { name: 'keys', description: 'API keys and their scopes.' },
      { name: 'server', description: 'State, abilities and events of the server.' },
    ],
  });
  const paths = Object.entries(document.paths ?? {});
  return { ...document, paths: Object.fromEntries(paths.map(([path, item]) => [openApiPath(path), item])) };
}

// The router needs `:id{[^]+}` to allow slashes and line ends in an id.
function openApiPath(path: string): string {
  return path.replace(/:(\w+)\{.+\}/, '{$1}');
}
