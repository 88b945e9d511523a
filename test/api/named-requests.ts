/** Requests of every route for data of one user, by its correct name. */
import { asObject, type Operation } from './openapi-fuzz.ts';

export interface NamedRequest {
  readonly path: string;
  readonly method: string;
  readonly json?: unknown;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

/** The name that a place in a path wants; a place means different things below different paths. */
export type NameOf = (place: string, path: string) => string;

/** A valid request: the parameters that must be there, and a body that the route takes. */
export function namedRequest(
  operation: Operation,
  nameOf: NameOf,
  query: Readonly<Record<string, string>>,
): NamedRequest {
  return {
    path: filled(operation, nameOf, query),
    method: operation.method.toUpperCase(),
    ...bodyFor(operation, nameOf),
  };
}

function filled({ path, operation }: Operation, nameOf: NameOf, values: Readonly<Record<string, string>>) {
  const named = path.replace(/\{(\w+)\}/g, (_, place) => encodeURIComponent(nameOf(place, path)));
  const query = new URLSearchParams();
  for (const parameter of Array.isArray(operation.parameters) ? operation.parameters.map(asObject) : []) {
    const name = String(parameter.name);
    const value = values[name] ?? '';
    // A stream that is followed ends only with its caller.
    if (parameter.in === 'query' && name === 'follow') query.set('follow', 'false');
    else if (parameter.in === 'query' && parameter.required === true && value) query.set(name, value);
  }
  return query.size > 0 ? `${named}?${query}` : named;
}

const entry = { content: 'mine', category: 'core', source: 'test' };

/** By the end of the path. What is named in them is the first file and the chat that `nameOf` gives. */
const bodies: Readonly<Record<string, (file: string, chat: string) => object>> = {
  exec: (file) => ({ argv: ['cat', file] }),
  processes: (file) => ({ argv: ['cat', file] }),
  signal: () => ({ signal: 'SIGKILL' }),
  resize: () => ({ columns: 80, rows: 24 }),
  terminal: () => ({ columns: 80, rows: 24 }),
  extend: () => ({ ms: 1 }),
  thinking: () => ({ until: 0 }),
  rename: () => ({ to: 'mine' }),
  labels: () => ({ labels: {} }),
  fork: () => ({ to: 'mine' }),
  mkdir: () => ({ path: 'x' }),
  save: (file) => ({ path: file, to: '/nowhere/x' }),
  download: (file) => ({ path: file, to: '/nowhere/x' }),
  upload: () => ({ path: 'x', from: '/nowhere/x' }),
  move: (file) => ({ path: file, to: 'x' }),
  copy: (file) => ({ path: file, to: 'x' }),
  chmod: (file) => ({ path: file, mode: 0 }),
  replace: (file) => ({ path: file, pattern: 'mark', replacement: '' }),
  snapshots: () => ({}),
  ports: () => ({ port: 8000 }),
  allow: () => ({ rules: ['example.com'] }),
  deny: () => ({ rules: ['example.com'] }),
  check: () => ({ code: '1' }),
  ask: () => ({ on: true }),
  learned: () => ({ apply: false }),
  default: () => ({ mode: 'deny-all' }),
  egress: () => ({ mode: 'deny-all' }),
  ingest: () => ({ ...entry, id: 'mine' }),
  bulk: () => ({ entries: [entry] }),
  messages: () => ({ text: 'what do you know of the others' }),
  schedules: () => ({ when: '0 9 1 1 *', text: 'mine' }),
  pull: () => ({ image: 'mine.invalid/no-such:1' }),
  build: () => ({ image: 'base' }),
  contexts: (_, chat) => ({ language: 'python', chat }),
  keys: () => ({ user: 'mine', scopes: ['runs'] }),
  'login-links': () => ({ user: 'mine' }),
  '{approval}': () => ({ decision: 'deny' }),
  '{code}': () => ({ user: 'mine' }),
  '{name}': () => ({ value: 'a-value-of-mine' }),
  '{key}': () => ({ pinned: true }),
};

const bodiesByPath: Readonly<Record<string, object>> = {
  '/api/v1/sandboxes': { chat: 'mine' },
  '/api/v1/runs': { language: 'shell', code: 'echo mine' },
  '/api/v1/contexts/{id}/runs': { code: '1' },
  '/api/v1/context/{id}': entry,
  '/api/v1/solve': { problem: 'Say mine.', attempts: 1 },
  '/api/v1/agents/{chat}/permissions/{id}': { answer: 'deny' },
};

function bodyFor({ path, operation }: Operation, nameOf: NameOf): Partial<NamedRequest> {
  const [type] = Object.keys(asObject(asObject(operation.requestBody).content));
  if (type === undefined) return {};
  if (type !== 'application/json') return { body: 'x', headers: { 'content-type': type } };
  const make = bodies[path.split('/').at(-1) ?? ''];
  return {
    json:
      bodiesByPath[path] ?? make?.(nameOf('file', path), nameOf('chat', '/api/v1/sandboxes/{chat}')) ?? {},
  };
}
