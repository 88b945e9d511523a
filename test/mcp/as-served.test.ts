import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { type Scope, scopes } from '../../src/contract/keys.ts';
import { type HostWorld, hostWorld, type OpenedHost } from '../host/world.ts';
import { call, done } from './call.ts';
import { connectIn } from './in-sandbox.ts';

const { bubblewrap } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;

/** A whole host on its port, with API keys, as `geode gateway` serves it. */
describe.skipIf(!bubblewrap.available)(`MCP on a host with keys${skipped}`, { timeout: 300_000 }, () => {
  const clients = new AsyncDisposableStack();
  let world: HostWorld;
  let opened: OpenedHost;
  beforeAll(async () => {
    world = hostWorld({ GEODE_RUNTIME_NAME: 'bubblewrap', GEODE_RUNS_POOL_CEILING: '0' });
    opened = await world.open();
  }, 300_000);
  afterAll(async () => {
    await clients.disposeAsync();
    await world?.[Symbol.asyncDispose]();
  }, 300_000);
  const keyOf = (user: string, granted: readonly Scope[] = scopes) =>
    opened.host.keys.create({ user, scopes: granted });
  const connect = async (secret: string | undefined) => {
    const client = new Client({ name: 'test', version: '0' }, { versionNegotiation: { mode: 'auto' } });
    const headers: Record<string, string> = secret === undefined ? {} : { authorization: `Bearer ${secret}` };
    await client.connect(
      new StreamableHTTPClientTransport(new URL('/mcp', opened.gateway.url), { requestInit: { headers } }),
    );
    clients.defer(() => client.close());
    return client;
  };

  it('MCP-5: refuses a connection without a key, with a wrong key and with a revoked key', async () => {
    const { key, secret } = keyOf('alice');
    const wrong = `${secret.slice(0, -1)}${secret.endsWith('A') ? 'B' : 'A'}`;
    for (const given of [undefined, wrong]) await expect(connect(given)).rejects.toThrow(/401|unauthorized/i);
    const client = await connect(secret);
    await done(client, 'sandbox_list');
    opened.host.keys.revoke(key.id);
    await expect(call(client, 'sandbox_list')).rejects.toThrow();
    await expect(connect(secret)).rejects.toThrow(/401|unauthorized/i);
  });

  it('MCP-5: sandboxes, commands, files, runs and memory work with a key, and belong to its user', async () => {
    const alice = await connect(keyOf('alice').secret);
    await done(alice, 'sandbox_create', { chat: 'served' });
    await done(alice, 'file_write', { chat: 'served', path: 'a.txt', content: 'hello' });
    expect(await done(alice, 'exec', { chat: 'served', command: 'cat a.txt' })).toMatchObject({
      stdout: 'hello',
    });
    expect(await done(alice, 'run_code', { language: 'python', code: 'print(6 * 7)' })).toMatchObject({
      stdout: '42\n',
    });
    await done(alice, 'memory_store', { content: 'The crane is yellow.', id: 'crane' });
    const bob = await connect(keyOf('bob').secret);
    for (const [tool, input] of [
      ['exec', { chat: 'served', command: 'cat a.txt' }],
      ['file_read', { chat: 'served', path: 'a.txt' }],
      ['sandbox_stop', { chat: 'served' }],
      ['snapshot_list', { chat: 'served' }],
    ] as const)
      expect(await call(bob, tool, input), tool).toMatchObject({
        failed: true,
        value: { code: 'sandbox_not_found' },
      });
    expect(JSON.stringify(await done(bob, 'memory_search', { query: 'crane' }))).not.toContain('yellow');
    expect(JSON.stringify(await done(bob, 'sandbox_list'))).not.toContain('served');
  });

  it('MCP-5: a key uses the tools of its scopes alone', async () => {
    const reader = await connect(keyOf('alice', ['memory:read', 'sandboxes:read']).secret);
    await done(reader, 'memory_search', { query: 'crane' });
    for (const [tool, input] of [
      ['memory_store', { content: 'x' }],
      ['sandbox_create', { chat: 'more' }],
      ['exec', { chat: 'served', command: 'true' }],
      ['run_code', { language: 'python', code: '1' }],
    ] as const)
      expect(await call(reader, tool, input), tool).toMatchObject({
        failed: true,
        value: { code: 'forbidden' },
      });
  });

  it('MCP-4: a tool session has only tools within the scopes of its key, and acts as the user of the key', async () => {
    const url = opened.gateway.url;
    const granted = ['sandboxes:read', 'sandboxes:write', 'memory:read'] as const;
    const alice = createClient({ url, key: keyOf('alice', granted).secret });
    const place = alice.sandboxes.of('served').tools;
    await expect(place.open({ tools: ['run_code'] })).rejects.toMatchObject({ code: 'forbidden' });
    await expect(place.open({ tools: ['memory_store'] })).rejects.toMatchObject({ code: 'forbidden' });
    await place.open();
    const sandbox = await opened.host.sandboxes.of('alice').start('served');
    await using inside = await connectIn(sandbox);
    const names = (await inside.client.listTools()).tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['memory_search', 'ask_person', 'read_resource']));
    for (const name of ['memory_store', 'run_code', 'schedule_add']) expect(names).not.toContain(name);
    expect(JSON.stringify(await done(inside.client, 'memory_search', { query: 'crane' }))).toContain(
      'yellow',
    );
    const bob = createClient({ url, key: keyOf('bob', granted).secret });
    await expect(bob.sandboxes.of('served').tools.open()).rejects.toMatchObject({
      code: 'sandbox_not_found',
    });
    expect(await place.close()).toBe(true);
  });
});
