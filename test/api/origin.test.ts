import { describe, expect, test } from 'vitest';
import { createLog } from '../../src/api/log.ts';
import { startApi } from '../../src/api/server.ts';
import { sendRaw } from './raw-http.ts';
import { callerWith, startTestServer } from './server-fixture.ts';

const context = '/api/v1/context';
const entry = { content: 'a fact', category: 'core', source: 'test' };

describe('SEC-1: the address of the server', () => {
  test.each(['0.0.0.0', '::', '192.0.2.1', 'example.com'])('refuses %s without auth', async (host) => {
    await using server = await startTestServer();
    const parts = { memory: server.memory, keys: 'off' as const, log: createLog('silent'), version: '0' };
    await expect(startApi(parts, { host, port: 0 })).rejects.toMatchObject({ code: 'invalid_config' });
  });

  test('auth off on loopback: every caller is the local user, and Host and Origin are still checked', async () => {
    await using server = await startTestServer({ auth: 'off' });
    const call = callerWith(server.url);
    expect((await call(`${context}/k`, { method: 'PUT', json: entry })).status).toBe(201);
    expect(await server.memory.in('local').get('k')).not.toBeNull();
    expect((await sendRaw(server.url + context, { host: 'evil.example' })).status).toBe(403);
    expect((await sendRaw(server.url + context, { origin: 'http://evil.example' })).status).toBe(403);
  });

  test('reports a used port with its number', async () => {
    await using server = await startTestServer();
    const parts = { memory: server.memory, keys: server.keys, log: createLog('silent'), version: '0' };
    const { port } = new URL(server.url);
    await expect(startApi(parts, { port: Number(port) })).rejects.toMatchObject({
      code: 'invalid_config',
      message: expect.stringContaining(port),
    });
  });
});

describe('API-1: Host and Origin', () => {
  test.each([
    ['127.0.0.1', 200],
    ['127.0.0.1:9', 200],
    ['localhost:4430', 200],
    ['LOCALHOST', 200],
    ['[::1]:4430', 200],
    ['geode.internal', 200],
    ['evil.example', 403],
    ['localhost.evil.example', 403],
    ['127.0.0.1.evil.example', 403],
    ['evil.example:4430', 403],
    ['geode.internal.evil.example', 403],
    ['2130706433', 403],
    ['a@localhost', 400],
    ['localhost/', 400],
  ])('Host %j answers %i', async (host, status) => {
    await using server = await startTestServer({ allowedHosts: ['geode.internal'] });
    for (const path of ['/health', '/openapi.json', '/reference']) {
      expect((await sendRaw(server.url + path, { host })).status).toBe(status);
    }
  });

  test('refuses a page of another origin; accepts this server and listed origins', async () => {
    await using server = await startTestServer({ allowedOrigins: ['https://app.example'] });
    const authorization = `Bearer ${server.key('alice')}`;
    const statusOf = async (headers: Record<string, string>) =>
      (await sendRaw(server.url + context, { authorization, ...headers })).status;
    expect(await statusOf({ origin: server.url })).toBe(200);
    expect(await statusOf({ origin: 'https://app.example' })).toBe(200);
    for (const origin of [
      'http://evil.example',
      'null',
      `${server.url}.evil.example`,
      'http://127.0.0.1:1',
      'file://',
    ]) {
      expect(await statusOf({ origin })).toBe(403);
    }
    expect(await statusOf({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' })).toBe(403);
    expect(await statusOf({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' })).toBe(200);
    expect(await statusOf({ 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' })).toBe(200);
  });

  test('only a listed origin gets CORS headers and a preflight', async () => {
    await using server = await startTestServer({ allowedOrigins: ['https://app.example'] });
    const ask = {
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    };
    const listed = await sendRaw(
      `${server.url}${context}/ingest`,
      { origin: 'https://app.example', ...ask },
      'OPTIONS',
    );
    expect(listed).toMatchObject({
      status: 204,
      headers: { 'access-control-allow-origin': 'https://app.example' },
    });
    const foreign = await sendRaw(
      `${server.url}${context}/ingest`,
      { origin: 'http://evil.example', ...ask },
      'OPTIONS',
    );
    expect(foreign.status).toBe(403);
    expect(foreign.headers).not.toHaveProperty('access-control-allow-origin');
  });
});
