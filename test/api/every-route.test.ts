/** Rules for every route, taken from the OpenAPI document, so that new routes are tested here too. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Scope, scopes } from '../../src/contract/keys.ts';
import { openLiveContexts } from '../../src/runs/contexts/live-contexts.ts';
import { startTestHost, type TestHost } from './host-fixture.ts';
import { namedRequest } from './named-requests.ts';
import { asObject, type Operation, operationsOf, requestsFor } from './openapi-fuzz.ts';
import type { Caller } from './server-fixture.ts';

let host: TestHost;
let document: ReturnType<typeof asObject>;
let alice: Caller;
let bob: Caller;
let processId: string;
let contextId: string;
let approvalId: string;
const resources = new AsyncDisposableStack();
/** Must not appear in any answer to bob. */
const mark = 'mark-of-alice-7f3a';
const plainScopes: readonly Scope[] = scopes.filter((scope) => scope !== 'admin');

beforeAll(async () => {
  host = await startTestHost({
    more({ runtime }, sandboxes) {
      const contexts = resources.use(openLiveContexts({ sandboxes, open: (spec) => runtime.open(spec) }));
      return { contexts };
    },
  });
  alice = host.server.caller('alice', plainScopes);
  bob = host.server.caller('bob', plainScopes);
  document = asObject((await alice('/openapi.json')).body);
  const client = host.server.client('alice');
  await client.sandboxes.getOrCreate('secret', { labels: { note: mark } });
  const sandbox = client.sandboxes.of('secret');
  await sandbox.files.write('secret.txt', mark);
  await sandbox.snapshots.take({ name: 'before' });
  processId = (await sandbox.spawn({ argv: ['/bin/sh', '-c', `echo ${mark}; sleep 600`], timeoutMs: null }))
    .id;
  const asked = { user: 'alice', chat: 'secret', kind: 'tool', title: mark } as const;
  // Nobody decides it: it ends with the host.
  host.approvals.ask(asked).catch(() => {});
  approvalId = host.approvals.list('alice')[0]?.id ?? '';
  contextId = (await client.contexts.open('python', { chat: 'secret' })).id;
}, 240_000);
afterAll(async () => {
  await resources.disposeAsync();
  await host?.[Symbol.asyncDispose]();
}, 180_000);

const names = (): Readonly<Record<string, string>> => ({
  chat: 'secret',
  process: processId,
  snapshot: 'before',
  id: contextId,
  approval: approvalId,
});

/** A request for what alice has, by its right name. */
function ofAlice(operation: Operation) {
  const name = (place: string) => String({ ...names(), file: 'secret.txt' }[place]);
  return namedRequest(operation, name, { path: 'secret.txt', pattern: 'mark', q: 'mark' });
}

test("SEC-2: with another user's key every route of a sandbox, a process, a context or an approval answers 404 and changes nothing", {
  timeout: 180_000,
}, async () => {
  const named = operationsOf(document).filter(({ path }) =>
    /\{(chat|process|snapshot|approval)\}|contexts\/\{id\}/.test(path),
  );
  expect(named.length).toBeGreaterThan(40);
  const before = await host.sandboxes.of('alice').inspect('secret');
  for (const operation of named) {
    const isSocket = '101' in asObject(operation.operation.responses) && operation.path.endsWith('/exec');
    const isRemoval = operation.method === 'delete' && operation.path === '/api/v1/sandboxes/{chat}';
    // No key copies files of the host's machine, for any user's sandbox.
    const isLocal = /\/files\/(save|download|upload)$/.test(operation.path);
    const { path, ...request } = ofAlice(operation);
    const reply = await bob(path, request);
    const what = `${operation.method} ${operation.path}: ${reply.status} ${reply.text}`;
    // Removing a missing thing is not an error; a plain request to a WebSocket route gets 426.
    expect(reply.status, what).toBe(isSocket ? 426 : isRemoval ? 200 : isLocal ? 403 : 404);
    if (isRemoval) expect(reply.body).toEqual({ removed: false });
    expect(reply.text).not.toContain(mark);
  }
  const lists = ['/api/v1/sandboxes', '/api/v1/contexts', '/api/v1/approvals?state=all'];
  expect(host.approvals.get('alice', approvalId).state).toBe('open');
  for (const path of lists) expect((await bob(path)).text).not.toContain('secret');
  const after = await host.sandboxes.of('alice').inspect('secret');
  expect({ ...after, activeAt: 0 }).toEqual({ ...before, activeAt: 0 });
  const files = (await host.sandboxes.of('alice').start('secret')).files;
  expect(await files.readText('secret.txt')).toBe(mark);
  expect(await host.sandboxes.of('bob').list()).toEqual([]);
});

test('every route under /api refuses a missing key and a key without its scope', async () => {
  const nobody = host.server.caller('alice', ['memory:read']);
  for (const operation of operationsOf(document)) {
    if (!operation.path.startsWith('/api/')) continue;
    const { path, ...request } = ofAlice(operation);
    const { method } = request;
    const plain = await fetch(host.server.url + path, { method });
    expect(plain.status, `${method} ${operation.path}`).toBe(401);
    await plain.arrayBuffer();
    if (/context\b|context\/|memory\/audit/.test(operation.path) && !operation.path.includes('contexts'))
      continue;
    const scoped = await nobody(path, request);
    expect(scoped.status, `${method} ${operation.path} ${scoped.text}`).toBe(403);
  }
});

test('API-1: the document describes purpose, scope and errors of every route', () => {
  const operations = operationsOf(document);
  expect(operations.length).toBeGreaterThan(70);
  for (const { method, path, operation } of operations) {
    const what = `${method} ${path}`;
    expect(operation.summary, what).toEqual(expect.any(String));
    expect(operation.tags, what).toHaveLength(1);
    if (!path.startsWith('/api/')) continue;
    expect(operation.security, what).toEqual([{ key: [] }]);
    const responses = asObject(operation.responses);
    for (const status of ['400', '401', '403', '429', '503'])
      expect(asObject(responses[status]), `${what} ${status}`).toHaveProperty('content');
    if (path.includes('{')) expect(responses, what).toHaveProperty('404');
  }
});

test('REL-3: routes of sandboxes and files answer random input with a declared status, never a 500', {
  timeout: 300_000,
}, async () => {
  const fuzzed = operationsOf(document).filter(
    ({ method, path }) =>
      /sandboxes|contexts/.test(path) &&
      !(method === 'post' && /^\/api\/v1\/(sandboxes|contexts)$/.test(path)),
  );
  const requests = fuzzed.map((operation) => ({ operation, made: requestsFor(document, operation) }));
  // The first of them takes seconds to be made, in which the server cannot close the connections that were idle.
  for (const { made } of requests) fc.sample(made, 1);
  await alice('/health').catch(() => {});
  await nextTurn();
  for (const { operation, made } of requests) {
    await fc.assert(
      fc.asyncProperty(made, async ({ path, body, contentType }) => {
        const reply = await alice(path, {
          method: operation.method.toUpperCase(),
          ...(body !== undefined && {
            body: JSON.stringify(body),
            headers: { 'content-type': contentType ?? 'application/json' },
          }),
        });
        expect(reply.status, `${operation.method} ${path} ${reply.text}`).toBeLessThan(500);
        expect(Object.keys(asObject(operation.operation.responses))).toContain(String(reply.status));
      }),
      { numRuns: 15 },
    );
  }
});

test('the client uses only interfaces that a browser has', () => {
  const root = fileURLToPath(new URL('../../src/', import.meta.url));
  const seen = new Set<string>();
  const visit = (file: string) => {
    if (seen.has(file)) return;
    seen.add(file);
    const source = readFileSync(join(root, file), 'utf8');
    for (const [, target = ''] of source.matchAll(/^(?:import|export) (?!type )[^;]*?from '([^']+)'/gms)) {
      expect(target, `${file} imports ${target}`).toMatch(/^\./);
      visit(join(dirname(file), target));
    }
  };
  visit('client/client.ts');
  expect([...seen].filter((file) => !/^(client|contract|base|seams)\//.test(file))).toEqual([]);
});
