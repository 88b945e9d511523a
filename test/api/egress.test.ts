/** Network policies over the API: in real walls, to real servers. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isGeodeError } from '../../src/base/errors.ts';
import type { GeodeClient } from '../../src/client/client.ts';
import { createRuns } from '../../src/runs/index.ts';
import { getUrl, testNames } from '../egress/hatch-fixture.ts';
import { httpUpstream, type Upstream } from '../egress/upstreams.ts';
import { startTestHost, type TestHost } from './host-fixture.ts';

const value = 'sk-value-that-no-answer-holds-0123456789';
const denied = { host: 'operator-denied.test' };
const plainScopes = ['sandboxes:read', 'sandboxes:write', 'runs', 'secrets'] as const;

let host: TestHost;
let upstream: Upstream;
/** The operator of the host, and the operator acting for alice. */
let socket: GeodeClient;
let operator: GeodeClient;
const resources = new AsyncDisposableStack();

beforeAll(async () => {
  upstream = resources.use(await httpUpstream());
  host = await startTestHost({
    hatches: { resolve: testNames, denied: [denied] },
    more: ({ runtime }, _, egress) => ({
      runs: resources.use(
        createRuns({
          runtimes: [runtime],
          choose: async () => runtime,
          images: {},
          pool: { floor: 0, ceiling: 0 },
          concurrency: 2,
          mostWaiting: 10,
          pullDeadlineMs: 60_000,
          egress,
        }),
      ),
    }),
  });
  socket = await host.socketClient();
  operator = socket.as('alice');
}, 240_000);
afterAll(async () => {
  await resources.disposeAsync();
  await host?.[Symbol.asyncDispose]();
}, 180_000);

const fetchIn = (client: GeodeClient, chat: string, url: string) =>
  client.sandboxes.of(chat).exec({ argv: ['python3', '-c', getUrl, url], timeoutMs: 50_000 });
const code = (wanted: Parameters<typeof isGeodeError>[1]) =>
  expect.toSatisfy((error: unknown) => isGeodeError(error, wanted), `a GeodeError ${wanted}`);

test('a sandbox reaches hosts that its policy allows, from the next command on; only its user sees them in the log', {
  timeout: 120_000,
}, async () => {
  const url = `http://allowed.test:${upstream.port}/x?token=hidden`;
  const rule = { host: 'allowed.test', ports: [upstream.port], private: true };
  const { id } = await operator.sandboxes.getOrCreate('reach', { egress: { allow: ['example.com'] } });
  const { egress } = operator.sandboxes.of('reach');
  expect(await egress.get()).toEqual({
    policy: { mode: 'allow-list', allow: [{ host: 'example.com' }], deny: [denied] },
    bindings: [],
  });
  expect((await fetchIn(operator, 'reach', url)).stdout).toContain('403 Geode: allowed.test');
  const before = Date.now();
  const { policy } = await egress.allow([rule], { forMs: 3_600_000 });
  expect(policy.allow).toEqual([{ host: 'example.com' }, { ...rule, until: expect.any(Number) }]);
  expect(policy.allow[1]?.until).toBeGreaterThanOrEqual(before + 3_600_000);
  expect((await fetchIn(operator, 'reach', url)).stdout).toContain('200 hello from allowed.test');
  await egress.deny(['allowed.test'], { forMs: 3_600_000 });
  expect((await fetchIn(operator, 'reach', url)).stdout).toContain('denied by the rule allowed.test');
  await egress.deny(['*']);
  expect((await egress.get()).policy).toMatchObject({ mode: 'deny-all', allow: [] });

  const records = await operator.egress.log({ sandbox: id });
  expect(records.map(({ verdict }) => verdict)).toEqual(['denied', 'allowed', 'denied']);
  expect(records[1]).toMatchObject({ host: 'allowed.test', port: upstream.port, path: '/x', status: 200 });
  expect(JSON.stringify(records)).not.toContain('hidden');
  expect(await operator.egress.log({ sandbox: id, verdict: 'allowed', words: 'allowed.' })).toHaveLength(1);
  expect(await operator.egress.log({ words: 'no-such-host' })).toEqual([]);
  const bob = host.server.client('bob');
  expect(await bob.egress.log()).toEqual([]);
  expect(await bob.egress.log({ sandbox: id })).toEqual([]);
});

test('a key without admin can allow no private address and set no upstream, and cannot remove those of the operator', {
  timeout: 120_000,
}, async () => {
  const carol = socket.as('carol');
  const rule = { host: 'localhost', ports: [upstream.port], private: true };
  const bound = { name: 'openai-compatible', upstream: `http://127.0.0.1:${upstream.port}/v1` };
  await carol.sandboxes.getOrCreate('own', { egress: { allow: [rule], bindings: [bound] } });
  const call = host.server.caller('carol', plainScopes);
  const path = '/api/v1/sandboxes/own/egress';

  const asked = [
    [path, 'PUT', { allow: ['10.0.0.5:80'] }],
    [path, 'PUT', { allow: ['private:db.internal:5432'] }],
    [path, 'PUT', { allow: [{ ...rule, ports: [1] }] }],
    [path, 'PUT', { bindings: [{ name: 'anthropic', upstream: 'https://example.com' }] }],
    [`${path}/allow`, 'POST', { rules: ['[::1]:80'] }],
    ['/api/v1/sandboxes', 'POST', { chat: 'new', egress: { allow: ['localhost:80'] } }],
    ['/api/v1/sandboxes', 'POST', { chat: 'new', egress: { bindings: [bound] } }],
    ['/api/v1/runs', 'POST', { language: 'python', code: '1', egress: { allow: ['169.254.169.254:80'] } }],
    ['/api/v1/runs', 'POST', { language: 'python', code: '1', egress: { bindings: [bound] } }],
  ] as const;
  for (const [where, method, json] of asked) {
    const { status, body } = await call(where, { method, json });
    expect({ where, json, status, body }).toMatchObject({ status: 403, body: { code: 'forbidden' } });
  }
  expect((await call('/api/v1/sandboxes/new')).status).toBe(404);

  const kept = await call(path, { method: 'PUT', json: { allow: [rule, 'pypi'], bindings: [bound] } });
  expect(kept).toMatchObject({ status: 200, body: { deny: [denied], bindings: [bound] } });
  const lifted = await call(`${path}/allow`, { json: { rules: [denied.host] } });
  expect(lifted).toMatchObject({ status: 200, body: { deny: [denied] } });
  const admin = host.server.caller('carol', [...plainScopes, 'admin']);
  expect(await admin(`${path}/allow`, { json: { rules: ['10.0.0.5:80'] } })).toMatchObject({ status: 200 });
  expect(await admin(path, { method: 'PUT', json: {} })).toMatchObject({
    status: 200,
    body: { mode: 'deny-all', allow: [], deny: [], bridges: [], bindings: [] },
  });
});

test('refuses a policy that cannot be enforced and keeps the earlier one, also for a stopped sandbox', {
  timeout: 120_000,
}, async () => {
  const dan = host.server.client('dan');
  await dan.sandboxes.getOrCreate('own', { egress: { allow: ['npm'] } });
  const { egress } = dan.sandboxes.of('own');
  const before = await egress.get();
  const refuse = async () => {
    await expect(egress.set({ allow: ['not a host'] })).rejects.toEqual(code('invalid_input'));
    await expect(egress.set({ mode: 'allow-list', allow: ['*'] })).rejects.toEqual(code('invalid_input'));
    await expect(egress.set({ bindings: ['nonsense'] })).rejects.toEqual(code('invalid_input'));
    await expect(egress.set({ bindings: ['anthropic'] })).rejects.toEqual(code('secret_missing'));
    await expect(egress.allow(['GET https://example.com/x'])).rejects.toEqual(code('invalid_input'));
    expect(await egress.get()).toEqual(before);
  };
  await refuse();
  // The proxy of this sandbox listens there.
  const bridges = [{ port: 3128, to: { host: 'example.com', port: 443 } }];
  await expect(egress.set({ allow: ['example.com'], bridges })).rejects.toEqual(code('invalid_input'));
  expect(await egress.get()).toEqual(before);
  await dan.sandboxes.stop('own');
  await refuse();
});

test('a run reaches allowed hosts only, and its result lists the refused ones', {
  timeout: 120_000,
}, async () => {
  const program = `${getUrl}\nprint(len(sys.argv))`;
  const urls = [`http://allowed.test:${upstream.port}/`, 'http://refused.test/'];
  const egress = { allow: [{ host: 'allowed.test', ports: [upstream.port], private: true }] };
  const result = await operator.runs.run(program, 'python', { argv: urls, egress });
  expect(result.stdout).toContain('200 hello from allowed.test');
  expect(result.stdout).toContain('403 Geode: refused.test:80 is not in the policy');
  expect(result.denied).toMatchObject([{ host: 'refused.test', port: 80, rule: 'allow-list' }]);
});

test('secrets are set and removed by their own user, with the scope, and no answer or log holds one', {
  timeout: 60_000,
}, async () => {
  const erin = host.server.client('erin');
  const call = host.server.caller('erin', ['secrets']);
  const ready = async () =>
    (await erin.egress.bindings()).filter((binding) => binding.ready).map(({ name }) => name);
  expect(await ready()).toEqual(['openai-compatible', 'otlp']);
  const set = await call('/api/v1/secrets/anthropic', { method: 'PUT', json: { value } });
  expect(set).toMatchObject({ status: 204, text: '' });
  expect(await ready()).toEqual(['anthropic', 'openai-compatible', 'otlp']);
  const listed = await call('/api/v1/secrets');
  expect(listed.body).toEqual({
    secrets: [{ name: 'anthropic', created_at: expect.any(Number), changed_at: expect.any(Number) }],
  });
  expect(await host.server.client('frank').secrets.list()).toEqual([]);
  expect(await host.server.client('frank').secrets.remove('anthropic')).toBe(false);
  const spaced = await call('/api/v1/secrets/anthropic', { method: 'PUT', json: { value: `${value} x` } });
  expect(spaced).toMatchObject({ status: 400, text: expect.not.stringContaining(value) });
  expect((await call('/api/v1/secrets/UPPER', { method: 'PUT', json: { value } })).status).toBe(400);
  expect((await call('/api/v1/secrets/rotate', { method: 'POST' })).status).toBe(403);
  expect(await erin.secrets.rotate()).toBeGreaterThanOrEqual(1);
  await erin.sandboxes.getOrCreate('bound', { egress: { bindings: ['anthropic'] } });
  const env = await erin.sandboxes.of('bound').exec({ argv: ['env'] });
  expect(env.stdout).toMatch(/ANTHROPIC_BASE_URL=http:\/\/127\.0\.0\.1:\d+/);
  expect(env.stdout).not.toContain(value);
  expect(host.server.log.join('\n')).not.toContain(value);
  expect(await erin.secrets.remove('anthropic')).toBe(true);
  expect(await erin.secrets.list()).toEqual([]);
});

test('usage returns the usage of the caller and the budget of today', async () => {
  const gina = host.server.client('gina');
  expect(await gina.egress.usage()).toEqual({
    usage: [],
    budget: { day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), limitUsd: null, spentUsd: 0 },
  });
  const call = host.server.caller('gina');
  expect((await call('/api/v1/egress/usage?day=yesterday')).status).toBe(400);
});

test('NET-1: a user sets the default policy of sandboxes and runs; a key cannot get more rights through the default', {
  timeout: 120_000,
}, async () => {
  const rule = { host: 'allowed.test', ports: [upstream.port], private: true };
  const url = `http://allowed.test:${upstream.port}/by-default`;
  const erin = socket.as('erin');
  expect(await erin.egress.default()).toEqual({
    from: 'nothing',
    policy: { mode: 'deny-all', allow: [], deny: [] },
    bindings: [],
  });
  await erin.sandboxes.getOrCreate('before');
  const held = await erin.egress.setDefault({ allow: [rule] });
  expect(held).toEqual({
    from: 'user',
    policy: { mode: 'allow-list', allow: [rule], deny: [denied] },
    bindings: [],
  });
  await erin.sandboxes.getOrCreate('after');
  expect((await fetchIn(erin, 'after', url)).stdout).toContain('200 hello');
  expect((await erin.sandboxes.of('before').egress.get()).policy.mode).toBe('deny-all');
  await erin.sandboxes.getOrCreate('own', { egress: { allow: ['example.com'] } });
  expect((await fetchIn(erin, 'own', url)).stdout).toContain('403');
  const run = await erin.runs.run(getUrl, 'python', { argv: [url] });
  expect(run.stdout).toContain('hello from allowed.test');
  expect((await socket.as('dave').egress.default()).from).toBe('nothing');

  const call = host.server.caller('erin', plainScopes);
  const put = async (body: object) => {
    const { status, body: answer } = await call('/api/v1/egress/default', { method: 'PUT', json: body });
    return [status, (answer as { code?: string }).code];
  };
  expect(await put({ allow: [rule] })).toEqual([403, 'forbidden']);
  expect(await put({ bindings: ['anthropic'] })).toEqual([404, 'secret_missing']);
  expect(await put({ allow: ['https://example.com/path'] })).toEqual([400, 'invalid_input']);
  expect(await erin.egress.default()).toEqual(held);
  expect(await put({ allow: ['example.com'] })).toEqual([200, undefined]);
  expect((await erin.egress.default()).policy.deny).toEqual([denied]);
  expect((await erin.egress.clearDefault()).from).toBe('nothing');
});
