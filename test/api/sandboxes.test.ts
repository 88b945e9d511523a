import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GeodeClient } from '../../src/client/client.ts';
import { startTestHost, type TestHost } from './host-fixture.ts';
import type { Caller } from './server-fixture.ts';

let host: TestHost;
let client: GeodeClient;
let call: Caller;

beforeAll(async () => {
  host = await startTestHost();
  client = host.server.client('alice');
  call = host.server.caller('alice');
}, 180_000);
afterAll(() => host?.[Symbol.asyncDispose](), 180_000);

const deadline = { timeout: 180_000 };

describe('sandboxes over HTTP', () => {
  test(
    'API-1: a sandbox is made, listed, labelled, kept, renamed, stopped, started and removed',
    deadline,
    async () => {
      const made = await client.sandboxes.getOrCreate('life', { labels: { kind: 'test' } });
      expect(made).toMatchObject({ user: 'alice', chat: 'life', state: 'running', labels: { kind: 'test' } });
      expect(await client.sandboxes.getOrCreate('life')).toMatchObject({ id: made.id });
      expect((await client.sandboxes.list()).map(({ chat }) => chat)).toContain('life');
      expect((await client.sandboxes.label('life', { a: 'b_c' })).labels).toEqual({ a: 'b_c' });
      const kept = await client.sandboxes.extend('life', 3_600_000);
      expect(kept.keptUntil).toBeGreaterThan(Date.now() + 3_000_000);
      expect((await client.sandboxes.thinkingUntil('life', 0)).thinkingUntil).toBe(0);
      expect(await client.sandboxes.rename('life', 'other life')).toMatchObject({ id: made.id });
      expect((await client.sandboxes.stop('other life')).state).toBe('stopped');
      await expect(client.sandboxes.of('other life').processes()).rejects.toMatchObject({
        code: 'sandbox_stopped',
      });
      expect((await client.sandboxes.start('other life')).state).toBe('running');
      expect(await client.sandboxes.remove('other life')).toBe(true);
      expect(await client.sandboxes.remove('other life')).toBe(false);
      await expect(client.sandboxes.inspect('other life')).rejects.toMatchObject({
        code: 'sandbox_not_found',
        hint: expect.stringContaining('List'),
      });
    },
  );

  test('any name of a chat works in a path', deadline, async () => {
    for (const chat of ['..', '~home', 'a/b c?d#e', '%2F', 'Grüße 😀']) {
      await client.sandboxes.getOrCreate(chat);
      expect((await client.sandboxes.inspect(chat)).chat).toBe(chat);
      expect(await client.sandboxes.remove(chat)).toBe(true);
    }
    expect((await call('/api/v1/sandboxes/~%25%25')).body).toMatchObject({ code: 'invalid_input' });
  });

  test('query parameters must be consistent, and an invalid one is refused by name', deadline, async () => {
    await client.sandboxes.getOrCreate('agree', { env: { A: '1' } });
    await expect(client.sandboxes.getOrCreate('agree', { env: { A: '2' } })).rejects.toMatchObject({
      code: 'sandbox_exists',
      details: { field: 'env' },
    });
    await client.sandboxes.remove('agree');
    const wrong = [
      {},
      { chat: '' },
      { chat: 'x', colour: 'red' },
      { chat: 'x', runtime: 'warp' },
      { chat: 'x', limits: { memory_bytes: -1 } },
      { chat: 'x', limits: { memory_bytes: 1 } },
      { chat: 'x', labels: { 'no spaces': '' } },
      { chat: '\ud800' },
    ];
    for (const json of wrong) {
      const { status, body } = await call('/api/v1/sandboxes', { json });
      expect(status, JSON.stringify(json)).toBe(400);
      expect(body).toMatchObject({ code: 'invalid_input', hint: expect.any(String) });
    }
    expect((await call('/api/v1/sandboxes', { body: '{' })).status).toBeGreaterThanOrEqual(400);
  });

  test('only an admin key may mount files of the machine, choose a network or run a shell without walls', async () => {
    const plain = host.server.caller('alice', ['sandboxes:read', 'sandboxes:write']);
    for (const json of [
      { chat: 'x', runtime: 'native' },
      { chat: 'x', mounts: [{ source: '/etc', target: '/mnt' }] },
      { chat: 'x', network: 'bridge' },
    ]) {
      expect((await plain('/api/v1/sandboxes', { json })).body).toMatchObject({ code: 'forbidden' });
    }
  });

  test('a key needs the scope of each action', async () => {
    const reader = host.server.caller('alice', ['sandboxes:read']);
    expect((await reader('/api/v1/sandboxes')).status).toBe(200);
    expect((await reader('/api/v1/sandboxes', { json: { chat: 'x' } })).body).toMatchObject({
      code: 'forbidden',
    });
    expect((await host.server.caller('alice', ['memory:read'])('/api/v1/sandboxes')).status).toBe(403);
    expect((await call('/api/v1/sandboxes?users=all')).body).toMatchObject({ code: 'forbidden' });
    expect((await call('/api/v1/sandboxes', { headers: { 'geode-user': 'bob' } })).body).toMatchObject({
      code: 'forbidden',
    });
  });

  test('the usage of a sandbox is a stream that ends with it', deadline, async () => {
    await client.sandboxes.getOrCreate('used');
    const seen: number[] = [];
    for await (const { memoryBytes } of client.sandboxes.of('used').usage({ everyMs: 100 })) {
      seen.push(memoryBytes.used);
      if (seen.length === 2) await client.sandboxes.stop('used');
    }
    expect(seen.length).toBeGreaterThanOrEqual(2);
    await client.sandboxes.remove('used');
  });

  test('on its own socket the caller is the local user and may act for others', deadline, async () => {
    const local = await host.socketClient();
    await local.sandboxes.getOrCreate('mine');
    await local.as('bob').sandboxes.getOrCreate('his');
    expect((await local.sandboxes.list()).map(({ user }) => user)).toEqual(['local']);
    const all = await local.sandboxes.list({ users: 'all' });
    expect(all.map(({ user, chat }) => `${user}/${chat}`)).toEqual(
      expect.arrayContaining(['local/mine', 'bob/his']),
    );
    const { stdout } = await local.sandboxes.of('mine').exec({ argv: ['echo', 'over the socket'] });
    expect(stdout).toBe('over the socket\n');
    const nobody = local.as('Not A User');
    await expect(nobody.search('anything')).rejects.toMatchObject({ code: 'invalid_input' });
    await expect(nobody.sandboxes.getOrCreate('new')).rejects.toMatchObject({ code: 'invalid_input' });
    // Sandboxes from before the rule for names can still be read and removed.
    expect(await nobody.sandboxes.list()).toEqual([]);
    await local.sandboxes.remove('mine');
    await local.as('bob').sandboxes.remove('his');
  });
});
