import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLog } from '../../src/api/log.ts';
import { e2bForm } from '../../src/contract/keys.ts';
import { keysInText } from '../../src/identity/keys.ts';
import { type Caller, callerWith } from '../api/server-fixture.ts';
import { type HostWorld, hostWorld, type OpenedHost } from '../host/world.ts';

describe('the wire of E2B', { timeout: 120_000 }, () => {
  let world: HostWorld;
  let opened: OpenedHost;
  let secret: string;
  let call: Caller;
  beforeAll(async () => {
    world = hostWorld({ GEODE_GATEWAY_FAILURE_RATE: '1000' });
    opened = await world.open();
    secret = opened.host.keys.create({ user: 'alice', scopes: ['sandboxes:read', 'sandboxes:write'] }).secret;
    call = callerWith(opened.gateway.url);
  }, 120_000);
  afterAll(() => world?.[Symbol.asyncDispose](), 120_000);
  const withKey = (key: string) => ({ headers: { 'x-api-key': key } });

  it("API-2: accepts a key in the form of E2B's SDKs, and no other spelling", async () => {
    const key = e2bForm(secret);
    expect(key).toMatch(/^e2b_[0-9a-f]{76}$/);
    expect((await call('/e2b/v2/sandboxes', withKey(key))).status).toBe(200);
    expect((await call('/e2b/v2/sandboxes', withKey(secret))).status).toBe(200);
    const flipped = key.endsWith('0') ? `${key.slice(0, -1)}1` : `${key.slice(0, -1)}0`;
    for (const wrong of [flipped, key.toUpperCase(), `${key}00`, `x${key}`, key.slice(0, -2)])
      expect((await call('/e2b/v2/sandboxes', withKey(wrong))).status, wrong).toBe(401);
    expect((await call(`/e2b/v2/sandboxes?key=${key}`)).text).toContain('in a URL');
    opened.host.keys.revoke(key.slice(4, 16));
    expect((await call('/e2b/v2/sandboxes', withKey(key))).status).toBe(401);
    secret = opened.host.keys.create({ user: 'alice', scopes: ['sandboxes:read', 'sandboxes:write'] }).secret;
  });

  it('SEC-1: no log shows a key, in any form', () => {
    const lines: string[] = [];
    const log = createLog('info', (line) => lines.push(line));
    for (const key of [secret, e2bForm(secret)]) log.info({ key }, `It was ${key}.`);
    expect(lines).toHaveLength(2);
    for (const line of lines) {
      expect(line).toContain(`geode_${secret.slice(6, 18)}_[redacted]`);
      expect(line).not.toMatch(keysInText);
    }
  });

  it('API-2: unknown routes answer in the shape of its errors', async () => {
    for (const [method, path] of [
      ['GET', '/e2b/no/such/route'],
      ['POST', '/e2b/volumes'],
      ['DELETE', '/e2b/v2/sandboxes'],
    ] as const)
      expect(await call(path, { method, ...withKey(secret) }), path).toMatchObject({
        status: 404,
        body: { code: 404, message: expect.stringContaining(`There is no ${method} ${path}`) },
      });
  });

  it('API-2: limits an address that tries signatures, before the costly check', async () => {
    const statuses = new Map<number, number>();
    for (let count = 0; count < 230; count += 1) {
      const signature = `v1_${String(count).padStart(43, '0')}`;
      const { status } = await call(`/e2b/files?path=x&signature=${signature}`);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    expect([...statuses.keys()].sort()).toEqual([401, 429]);
  });
});
