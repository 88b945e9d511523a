/** The most that a caller without the scope `admin` may ask for, at every door of a host that makes sandboxes. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createClient, type GeodeClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import type { Limits } from '../../src/seams/limits.ts';
import { type Caller, callerWith, collect } from '../api/server-fixture.ts';
import { onWall, type Wall } from '../fixtures/walls.ts';
import { call as callTool } from '../mcp/call.ts';
import { type HostWorld, hostWorld, type OpenedHost } from './world.ts';

const gibibyte = 1024 ** 3;
const most = { memoryBytes: gibibyte, cpus: 2, pids: 512, openFiles: 8192, diskBytes: 16 * gibibyte };
const settings = {
  GEODE_SANDBOX_MAX_MEMORY: '1g',
  GEODE_SANDBOX_MAX_CPUS: '2',
  GEODE_SANDBOX_MAX_PIDS: '512',
  GEODE_SANDBOX_MAX_OPEN_FILES: '8192',
  GEODE_SANDBOX_MAX_DISK: '16g',
};
const fields = {
  memoryBytes: 'memory_bytes',
  cpus: 'cpus',
  pids: 'pids',
  openFiles: 'open_files',
  diskBytes: 'disk_bytes',
} as const;
const names = Object.keys(fields) as (keyof typeof fields)[];

/** Each opens a sandbox with these limits, and removes it. */
const doors: Readonly<Record<string, (client: GeodeClient, limits: Limits) => Promise<void>>> = {
  async 'a sandbox that stays'(client, limits) {
    await client.sandboxes.getOrCreate('asked', { limits });
    await client.sandboxes.remove('asked');
  },
  async 'a run'(client, limits) {
    expect(await client.runs.run('echo ran', 'shell', { limits })).toMatchObject({ stdout: 'ran\n' });
  },
  async 'a run over a WebSocket'(client, limits) {
    const seen: string[] = [];
    for await (const { type } of client.runs.live('echo ran', 'shell', { limits })) seen.push(type);
    expect(seen.at(-1)).toBe('end');
  },
  async 'a command in a fresh sandbox'(client, limits) {
    const process = await client.runs.exec({ argv: ['true'] }, { limits });
    expect((await collect(process)).at(-1)).toMatchObject({ exitCode: 0 });
  },
  async 'a context'(client, limits) {
    const context = await client.contexts.open('python', { limits });
    await context.close();
  },
};

for (const wall of ['bubblewrap', 'docker'] satisfies Wall[]) {
  const onThis = onWall(inject('engines'), wall);
  const isMissing = typeof onThis === 'string';
  const skipped = isMissing ? ` (skipped: ${onThis})` : '';

  describe.skipIf(isMissing)(`maxima of limits on ${wall}${skipped}`, { timeout: 180_000 }, () => {
    let world: HostWorld;
    let opened: OpenedHost;
    let plain: GeodeClient;
    let admin: GeodeClient;
    let call: Caller;
    let clients: AsyncDisposableStack;

    beforeAll(async () => {
      const images = { GEODE_RUNS_IMAGES: '{"shell":"geode-test/base:1","python":"geode-test/python:1"}' };
      world = hostWorld({ ...(isMissing ? {} : onThis), ...(wall === 'docker' ? images : {}), ...settings });
      opened = await world.open();
      clients = new AsyncDisposableStack();
      const { keys } = opened.host;
      const { url } = opened.gateway;
      const scopes = ['sandboxes:read', 'sandboxes:write', 'runs'] as const;
      const { secret } = keys.create({ user: 'ann', scopes });
      plain = createClient({ url, key: secret });
      call = callerWith(url, secret);
      admin = createClient({ url, key: keys.create({ user: 'ann', scopes: [...scopes, 'admin'] }).secret });
    }, 120_000);
    afterAll(async () => {
      await clients?.disposeAsync();
      await world?.[Symbol.asyncDispose]();
    }, 120_000);

    it.for(Object.keys(doors))('RT-7: %s: takes the maximum, and refuses more and no limit', async (door) => {
      const open = doors[door] ?? expect.fail('no door');
      await open(plain, { memoryBytes: most.memoryBytes, cpus: most.cpus, pids: most.pids });
      for (const name of names) {
        for (const value of [most[name] + (name === 'cpus' ? 0.5 : 4096), null]) {
          await expect(open(plain, { [name]: value }), `${name} ${value}`).rejects.toMatchObject({
            code: 'forbidden',
            hint: expect.stringContaining('sandbox.max_'),
          });
        }
      }
      expect(await plain.sandboxes.list()).toEqual([]);
    });

    it.for(Object.keys(doors))('RT-7: %s: a key with the scope admin has no maximum', async (door) => {
      const open = doors[door] ?? expect.fail('no door');
      await open(admin, { memoryBytes: 2 * gibibyte, cpus: 64, pids: null });
      await open(admin, { memoryBytes: null, cpus: null });
    });

    it('RT-7: the local user on the private socket has no maximum', async () => {
      const client = createClient(unixTransport(opened.socket.path));
      const limits = { memoryBytes: null, cpus: null, pids: 8192 };
      await client.sandboxes.getOrCreate('own', { limits });
      const held = await opened.host.sandboxes.of('local').start('own');
      expect(held.limits).toMatchObject(limits);
      await client.sandboxes.remove('own');
    });

    it('RT-7: an invalid limit is 400 with its field in every API, also for an admin', async () => {
      const nonsense: readonly [keyof typeof fields, number][] = [
        ...names.flatMap((name): [typeof name, number][] => [
          [name, 1e300],
          [name, -1],
          [name, 0],
          [name, Number.MAX_SAFE_INTEGER],
        ]),
        ['pids', 10.5],
        ['openFiles', 2_000_000],
        ['diskBytes', 9 * 1024 ** 4],
        ['cpus', 5000],
      ];
      const requests = (limits: object) =>
        [
          ['/api/v1/sandboxes', { chat: 'asked', limits }],
          ['/api/v1/runs', { language: 'shell', code: 'echo ran', limits }],
          ['/api/v1/contexts', { language: 'python', limits }],
        ] as const;
      for (const [name, value] of nonsense) {
        for (const [path, json] of requests({ [fields[name]]: value })) {
          const { status, body } = await call(path, { json });
          expect({ path, name, value, status, body }).toMatchObject({
            status: 400,
            body: { code: 'invalid_input', hint: expect.any(String) },
          });
        }
        await expect(
          admin.runs.exec({ argv: ['true'] }, { limits: { [name]: value } }),
        ).rejects.toMatchObject({
          code: 'invalid_input',
        });
      }
      // JSON has no NaN; some writers send it all the same.
      for (const [path] of requests({})) {
        const body = '{"chat":"x","language":"shell","code":"","limits":{"cpus":NaN}}';
        const headers = { 'content-type': 'application/json' };
        expect(await call(path, { body, headers })).toMatchObject({ status: 400 });
      }
      expect(await plain.sandboxes.list()).toEqual([]);
    });

    it("RT-7: the E2B API accepts no limits of a caller, and its sandboxes have the host's", async () => {
      const { secret } = opened.host.keys.create({
        user: 'eve',
        scopes: ['sandboxes:write', 'sandboxes:read'],
      });
      const url = `${opened.gateway.url}/e2b`;
      const asked = await fetch(`${url}/sandboxes`, {
        method: 'POST',
        headers: { 'x-api-key': secret, 'content-type': 'application/json' },
        body: JSON.stringify({ templateID: 'base', cpuCount: 64, memoryMB: 1e6 }),
      });
      expect(asked.status).toBe(400);
      const sandbox = await Sandbox.create({ apiKey: secret, apiUrl: url, sandboxUrl: url });
      const [{ id } = expect.fail('no sandbox')] = await opened.host.sandboxes.of('eve').list();
      const held = await opened.host.sandboxes.of('eve').start(sandbox.sandboxId);
      expect(held).toMatchObject({ id, limits: { memoryBytes: 512 * 1024 ** 2, cpus: 1, pids: 256 } });
      await sandbox.kill();
    });

    it('RT-7: MCP tools accept no limits, and their sandboxes have the limits of the host', async () => {
      const { secret } = opened.host.keys.create({
        user: 'mia',
        scopes: ['sandboxes:write', 'sandboxes:read'],
      });
      const client = new Client({ name: 'test', version: '0' });
      const headers = { authorization: `Bearer ${secret}` };
      await client.connect(
        new StreamableHTTPClientTransport(new URL('/mcp', opened.gateway.url), { requestInit: { headers } }),
      );
      clients.defer(() => client.close());
      const limits = { memory_bytes: null, pids: null };
      const lifted = { name: 'sandbox_create', arguments: { chat: 'big', limits } };
      expect(await client.callTool(lifted)).toMatchObject({ isError: true });
      expect(await callTool(client, 'sandbox_create', { chat: 'usual' })).toMatchObject({ failed: false });
      const held = await opened.host.sandboxes.of('mia').start('usual');
      expect(held.limits).toMatchObject({ memoryBytes: 512 * 1024 ** 2, cpus: 1, pids: 256 });
    });
  });
}
