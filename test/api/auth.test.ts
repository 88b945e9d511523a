import { readFile, stat } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { openKeys, scopes } from '../../src/identity/keys.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { callerWith, startTestServer } from './server-fixture.ts';

const context = '/api/v1/context';
const entry = { content: 'a fact', category: 'core', source: 'test' };

describe('SEC-1: keys', () => {
  test('every path of the API needs a key; health, readiness and the reference do not', async () => {
    await using server = await startTestServer();
    const stranger = callerWith(server.url);
    for (const path of [
      context,
      `${context}/search?q=a`,
      `${context}/categories`,
      `${context}/x`,
      '/api/v1/keys',
      '/api/nope',
    ]) {
      const refused = await stranger(path);
      expect(refused).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
      expect(refused.headers.get('www-authenticate')).toBe('Bearer');
    }
    for (const path of ['/health', '/ready', '/openapi.json', '/reference']) {
      expect((await stranger(path)).status).toBe(200);
    }
  });

  test('a wrong, cut, doubled or revoked key is refused, and so are other schemes', async () => {
    await using server = await startTestServer();
    const secret = server.key('alice');
    const wrong = secret.slice(0, -1) + (secret.endsWith('A') ? 'B' : 'A');
    for (const key of ['', 'x', wrong, secret.slice(0, -1), secret + secret, secret.toUpperCase()]) {
      expect(await callerWith(server.url, key)(context)).toMatchObject({
        status: 401,
        body: { code: 'unauthorized' },
      });
    }
    const basic = Buffer.from(`alice:${secret}`).toString('base64');
    const other = await callerWith(server.url)(context, { headers: { authorization: `Basic ${basic}` } });
    expect(other.status).toBe(401);

    const call = callerWith(server.url, secret);
    expect((await call(context)).status).toBe(200);
    server.keys.revoke(secret.split('_')[1] ?? '');
    expect((await call(context)).status).toBe(401);
  });

  test('a key in a URL is refused, also a good one, and does not reach the log', async () => {
    await using server = await startTestServer();
    const secret = server.key('alice');
    const call = callerWith(server.url, secret);
    for (const path of [`${context}?key=${secret}`, `${context}/${secret}`]) {
      expect(await call(path)).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
    }
    expect(server.log.join('')).not.toContain(secret);
  });

  test('the key file is readable only by its owner and does not contain the secret', async () => {
    using folder = temporaryFolder();
    const path = `${folder.path}/deep/keys.db`;
    using keys = openKeys(path);
    const { secret } = keys.create({ user: 'alice', scopes });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(`${path}-wal`)).mode & 0o777).toBe(0o600);
    const bytes = (await readFile(path, 'latin1')) + (await readFile(`${path}-wal`, 'latin1'));
    expect(bytes).toContain('alice');
    expect(bytes).not.toContain(secret.slice(-43));
  });

  test('a key can use only the routes of its scopes', async () => {
    await using server = await startTestServer();
    const reader = server.caller('alice', ['memory:read']);
    const writer = server.caller('alice', ['memory:write']);
    const admin = server.caller('alice', ['admin']);
    const forbidden = { status: 403, body: { code: 'forbidden' } };

    expect((await writer(`${context}/k`, { method: 'PUT', json: entry })).status).toBe(201);
    expect((await reader(`${context}/k`)).status).toBe(200);
    for (const call of [reader, admin]) {
      expect(await call(`${context}/ingest`, { json: entry })).toMatchObject(forbidden);
      expect(await call(`${context}/bulk`, { json: { entries: [entry] } })).toMatchObject(forbidden);
      expect(await call(`${context}/files`, { body: new FormData() })).toMatchObject(forbidden);
      expect(await call(`${context}/k`, { method: 'PUT', json: entry })).toMatchObject(forbidden);
      expect(await call(`${context}/k`, { method: 'DELETE' })).toMatchObject(forbidden);
    }
    for (const call of [writer, admin]) {
      for (const path of [context, `${context}/k`, `${context}/search?q=a`, `${context}/categories`]) {
        expect(await call(path)).toMatchObject(forbidden);
      }
    }
    for (const call of [reader, writer]) {
      expect(await call('/api/v1/keys')).toMatchObject(forbidden);
      expect(await call('/api/v1/keys', { json: { user: 'eve', scopes: ['admin'] } })).toMatchObject(
        forbidden,
      );
      expect(await call('/api/v1/keys/0123456789ab', { method: 'DELETE' })).toMatchObject(forbidden);
    }
  });

  test('an admin makes, lists and revokes keys', async () => {
    await using server = await startTestServer();
    const admin = server.caller('root', ['admin']);
    const made = await admin('/api/v1/keys', {
      json: { user: 'bob', scopes: ['memory:read'], label: 'laptop' },
    });
    expect(made).toMatchObject({
      status: 201,
      body: { user: 'bob', secret: expect.stringMatching(/^geode_/) },
    });
    const listed = await admin('/api/v1/keys');
    expect(listed.body).toMatchObject({
      keys: [{ user: 'root' }, { user: 'bob', label: 'laptop', revoked_at: null }],
    });
    expect(listed.text).not.toContain('secret');
    const bob = server.keys.list().find(({ user }) => user === 'bob');
    expect((await admin(`/api/v1/keys/${bob?.id}`, { method: 'DELETE' })).status).toBe(204);
    expect((await admin('/api/v1/keys')).body).toMatchObject({
      keys: [{}, { revoked_at: expect.any(String) }],
    });
    const unknown = await admin('/api/v1/keys/0123456789ab', { method: 'DELETE' });
    expect(unknown).toMatchObject({ status: 404, body: { code: 'key_not_found' } });
    const badUser = await admin('/api/v1/keys', { json: { user: '../root', scopes: ['admin'] } });
    expect(badUser).toMatchObject({ status: 400, body: { code: 'invalid_input' } });
  });
});

describe('API-1: rate limits', () => {
  test('limits the requests of one key without limiting others', async () => {
    await using server = await startTestServer({ rate: { perMinute: 1, burst: 5 } });
    const [alice, bob] = [server.caller('alice'), server.caller('bob')];
    const replies = await Promise.all(Array.from({ length: 12 }, () => alice(context)));
    const limited = replies.filter(({ status }) => status === 429);
    expect(limited.length).toBeGreaterThanOrEqual(6);
    expect(limited[0]?.body).toMatchObject({ code: 'rate_limited' });
    expect(Number(limited[0]?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect((await bob(context)).status).toBe(200);
  });

  test('limits an address that tries wrong keys; valid keys still work', async () => {
    await using server = await startTestServer({ failureRate: { perMinute: 1, burst: 5 } });
    const guess = callerWith(server.url, 'geode_000000000000_guess');
    const replies = await Promise.all(Array.from({ length: 12 }, () => guess(context)));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([401, 429]));
    expect((await server.caller('alice')(context)).status).toBe(200);
  });
});

describe('API-1: logs and request ids', () => {
  test('gives each request an id; accepts a harmless id of the caller', async () => {
    await using server = await startTestServer();
    const call = callerWith(server.url);
    expect((await call('/health')).headers.get('x-request-id')).toMatch(/^[\w-]{8,}$/);
    expect(
      (await call('/health', { headers: { 'x-request-id': 'mine-1' } })).headers.get('x-request-id'),
    ).toBe('mine-1');
    const injected = await call('/health', { headers: { 'x-request-id': 'a b"{}' } });
    expect(injected.headers.get('x-request-id')).not.toContain('"');
    expect((await call('/nope')).headers.get('x-request-id')).toBeTruthy();
  });

  test('a log line has caller and request, without key, query or content', async () => {
    await using server = await startTestServer();
    const secret = server.key('alice');
    const call = callerWith(server.url, secret);
    await call(`${context}/ingest`, { json: { ...entry, content: 'very private content' } });
    await call(`${context}/search?q=very+private+query`);
    const log = server.log.join('');
    expect(log).toContain('"user":"alice"');
    expect(log).toContain(`"path":"${context}/search"`);
    expect(log).not.toContain('private');
    expect(log).not.toContain(secret);
  });
});
