/** MCP servers of the operator: one from npm and one that misbehaves in sandboxes of their own, one over HTTP. */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getRequestListener } from '@hono/node-server';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { createClient, type GeodeClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import type { PersistentSandbox } from '../../src/seams/persistent.ts';
import { eventually } from '../contracts/harness.ts';
import { type ModelServer, type Reply, startModelServer } from '../fixtures/model-server/model-server.ts';
import { npmPackage } from '../fixtures/npm-package.ts';
import { type HostWorld, hostWorld, type OpenedHost } from '../host/world.ts';
import { connectIn, type InSandbox } from './in-sandbox.ts';

const { bubblewrap } = inject('engines');
const everything = bubblewrap.available
  ? await npmPackage('@modelcontextprotocol/server-everything', '2026.8.31')
  : bubblewrap;
const skipped = everything.available ? '' : ` (skipped: ${everything.reason})`;
const fixtures = fileURLToPath(new URL('../fixtures', import.meta.url));
const key = `key-${randomUUID()}`;

describe.skipIf(!everything.available)(`MCP servers of the operator${skipped}`, { timeout: 300_000 }, () => {
  const all = new AsyncDisposableStack();
  let world: HostWorld;
  let opened: OpenedHost;
  let client: GeodeClient;
  let sandbox: PersistentSandbox;
  let model: ModelServer;
  const replies: Reply[] = [];

  beforeAll(async () => {
    model = all.use(
      await startModelServer(() => replies.shift() ?? { status: 500, body: 'nothing is scripted' }),
    );
    const http = all.use(await httpServer());
    const node = dirname(process.execPath);
    const folder = everything.available ? everything.folder : '';
    const program = '/opt/everything/node_modules/@modelcontextprotocol/server-everything/dist/index.js';
    const ownNode = { source: node, target: '/opt/node' };
    world = hostWorld({
      GEODE_RUNTIME_NAME: 'bubblewrap',
      GEODE_SECURITY_MOUNT_ROOTS: JSON.stringify([folder, node, fixtures]),
      GEODE_PROVIDERS_SERVICES: JSON.stringify({
        scripted: { kind: 'anthropic', base_url: `${model.url}/v1`, api_key: 'the-key' },
      }),
      GEODE_PROVIDERS_DEFAULT: 'scripted/small',
      GEODE_EGRESS_DENY: JSON.stringify([`localhost:${new URL(http.url).port}`]),
      GEODE_MCP_SERVERS: JSON.stringify({
        everything: {
          command: ['/opt/node/node', program, 'stdio'],
          folders: [{ source: folder, target: '/opt/everything' }, ownNode],
          tools: ['echo', 'get-sum'],
        },
        bad: {
          command: ['/opt/node/node', '/opt/fixtures/bad-mcp-server.mjs'],
          folders: [{ source: fixtures, target: '/opt/fixtures' }, ownNode],
          timeout: 15,
        },
        web: { url: http.url, secret: 'web-token' },
        keyed: { binding: `keyed=${http.url} add=header:X-Key` },
        astray: { binding: `keyed=${new URL('/astray', http.url)} add=header:X-Key` },
        denied: { url: http.url.replace('127.0.0.1', 'localhost') },
        private: { url: http.url, users: ['carol'] },
        missing: { command: ['/no/such/program'] },
      }),
    });
    opened = await world.open();
    client = createClient(unixTransport(opened.socket.path)).as('alice');
    sandbox = await opened.host.sandboxes.of('alice').getOrCreate('servers');
  }, 300_000);
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await all.disposeAsync();
  }, 120_000);

  const inside = async (...tools: string[]): Promise<InSandbox> => {
    await client.sandboxes.of('servers').tools.open({ tools, replace: true });
    return await connectIn(sandbox);
  };
  const textOf = async ({ client: mcp }: InSandbox, name: string, input = {}) => {
    const { content, isError = false } = await mcp.callTool({ name, arguments: input }, { timeout: 120_000 });
    const [first] = content;
    return { text: first?.type === 'text' ? first.text : '', failed: isError };
  };

  it('MCP-4: a real server from npm runs in its own sandbox; its allowed tools are offered under its name', async () => {
    await using session = await inside('everything__*', 'memory_search');
    const { tools } = await session.client.listTools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual([
      'everything__echo',
      'everything__get-sum',
      'memory_search',
    ]);
    expect(await textOf(session, 'everything__echo', { message: 'ahoy' })).toEqual({
      text: 'Echo: ahoy',
      failed: false,
    });
    expect((await textOf(session, 'everything__get-sum', { a: 2, b: 40 })).text).toContain('42');
    expect((await textOf(session, 'everything__get-sum', { a: 'two' })).failed).toBe(true);
    const records = await client.tools.calls({ chat: 'servers', limit: 3 });
    expect(records).toContainEqual(
      expect.objectContaining({ tool: 'everything__echo', outcome: 'ok', arguments: '{"message":"ahoy"}' }),
    );
    expect(await client.tools.available()).toContain('everything__echo');
  });

  it('MCP-4: a session may have one tool of a server and not the others', async () => {
    await using session = await inside('everything__echo');
    expect((await session.client.listTools()).tools.map(({ name }) => name)).toEqual(['everything__echo']);
    const refused = await textOf(session, 'everything__get-sum', { a: 1, b: 1 }).catch((error: Error) => ({
      text: error.message,
      failed: true,
    }));
    expect(refused).toMatchObject({ failed: true, text: expect.stringContaining('everything__get-sum') });
    const opening = client.sandboxes.of('servers').tools.open({ tools: ['nobody__echo'] });
    await expect(opening).rejects.toMatchObject({ code: 'invalid_input' });
    const others = client.sandboxes.of('servers').tools.open({ tools: ['private__greet'] });
    await expect(others).rejects.toMatchObject({ code: 'invalid_input' });
  });

  it('MCP-4: output of a server is limited, and a silent server times out', async () => {
    await using session = await inside('bad__*', 'everything__*');
    const { tools } = await session.client.listTools();
    const names = tools.map(({ name }) => name).filter((name) => name.startsWith('bad__'));
    expect(names.toSorted()).toEqual(
      ['crash', 'flood', 'garbage', 'hello', 'line', 'long', 'silent'].map((name) => `bad__${name}`),
    );
    expect(tools.find(({ name }) => name === 'bad__hello')?.description?.length).toBeLessThan(4_100);
    // The pattern of its schema would take years on this text.
    expect(await textOf(session, 'bad__hello', { text: `${'a'.repeat(60)}!` })).toEqual({
      text: 'hello',
      failed: false,
    });
    expect(await textOf(session, 'bad__flood')).toEqual({ text: 'flooded', failed: false });
    expect(await textOf(session, 'bad__long')).toMatchObject({
      failed: true,
      text: expect.stringContaining('too_large'),
    });
    expect(await textOf(session, 'bad__line')).toEqual({ text: 'after the line', failed: false });
    expect(await textOf(session, 'bad__garbage')).toMatchObject({ failed: true });
    const silent = textOf(session, 'bad__silent');
    expect(await textOf(session, 'everything__echo', { message: 'meanwhile' })).toMatchObject({
      failed: false,
    });
    expect(await silent).toMatchObject({ failed: true, text: expect.stringContaining('tool_server_failed') });
  });

  it('MCP-4: restarts an ended server after a pause, and refuses calls until then with the time left', async () => {
    await using session = await inside('bad__hello', 'bad__crash');
    await textOf(session, 'bad__hello');
    expect(await textOf(session, 'bad__crash')).toMatchObject({ failed: true });
    const state = async () =>
      (await createClient(unixTransport(opened.socket.path)).tools.servers()).find(
        ({ name }) => name === 'bad',
      );
    expect(
      await eventually(
        async () => ((await state())?.state === 'failed' ? state() : undefined),
        'its end',
        60_000,
      ),
    ).toMatchObject({
      reason: expect.stringContaining('the roof fell in'),
    });
    const again = await eventually(
      async () => {
        const answer = await textOf(session, 'bad__hello');
        return answer.failed ? undefined : answer;
      },
      'the next start',
      60_000,
    );
    expect(again.text).toBe('hello');
  });

  it('MCP-4: a server that cannot start reports the reason, and the session has its other tools', async () => {
    await using session = await inside('missing__*', 'memory_search');
    expect((await session.client.listTools()).tools.map(({ name }) => name)).toEqual(['memory_search']);
    const servers = await createClient(unixTransport(opened.socket.path)).tools.servers();
    expect(servers.find(({ name }) => name === 'missing')).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('/no/such/program'),
    });
  });

  it('MCP-4: the host adds the credential of an HTTP server outside of the sandbox', async () => {
    const operator = createClient(unixTransport(opened.socket.path));
    await using without = await inside('web__*');
    expect((await without.client.listTools()).tools).toEqual([]);
    const failed = (await operator.tools.servers()).find(({ name }) => name === 'web');
    expect(failed?.reason).toContain('needs the secret web-token, which is not set');
    await operator.secrets.set('web-token', key);
    const named = await eventually(
      async () => {
        await using session = await inside('web__*');
        const { tools } = await session.client.listTools();
        return tools.length > 0 ? await textOf(session, 'web__greet', { name: 'Ada' }) : undefined;
      },
      'the server over HTTP',
      60_000,
    );
    expect(named).toEqual({ text: 'Hello, Ada', failed: false });
    expect(JSON.stringify(await client.tools.calls({ limit: 100 }))).not.toContain(key);
  });

  it('MCP-4: a server behind a binding gets its credential from the binding, never shows it, and has limited output', async () => {
    const operator = createClient(unixTransport(opened.socket.path));
    await operator.secrets.set('keyed', key);
    await using session = await inside('keyed__*', 'astray__*', 'denied__*');
    const { tools } = await session.client.listTools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual([
      'keyed__greet',
      'keyed__huge',
      'keyed__reveal',
    ]);
    expect(await textOf(session, 'keyed__greet', { name: 'Ada' })).toEqual({
      text: 'Hello, Ada',
      failed: false,
    });
    // The message that it received, as it reports.
    const { text } = await textOf(session, 'keyed__reveal');
    expect(text).toMatch(/^x-key: \*+$/);
    expect((await textOf(session, 'keyed__huge')).failed).toBe(true);
    const servers = await operator.tools.servers();
    const reasonOf = (server: string) => servers.find(({ name }) => name === server)?.reason;
    expect(reasonOf('astray')).toContain('307');
    expect(reasonOf('denied')).toContain('denied access (HTTP 403)');
    const crossed = await operator.egress.log({ limit: 100 });
    expect(crossed).toContainEqual(
      expect.objectContaining({ sandboxId: 'mcp-keyed', via: 'binding', rule: 'bind keyed', status: 200 }),
    );
    expect(crossed).toContainEqual(expect.objectContaining({ sandboxId: 'mcp-denied', verdict: 'denied' }));
    expect(JSON.stringify([crossed, servers, await client.tools.calls({ limit: 100 })])).not.toContain(key);
    // A secret that was changed holds for the next call.
    await operator.secrets.set('keyed', 'another-key-than-before');
    expect((await textOf(session, 'keyed__greet', { name: 'Ada' })).failed).toBe(true);
  });

  it("MCP-4: the built-in agent has the session's tools beside its own", async () => {
    await inside('everything__echo').then((session) => session[Symbol.asyncDispose]());
    replies.push(
      {
        text: 'I ask the server.',
        calls: [{ tool: 'everything__echo', input: { message: 'from the agent' } }],
      },
      { text: 'It answered.' },
    );
    const events = [];
    for await (const event of client.agents.send('servers', { text: 'echo, please' })) events.push(event);
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'tool-result',
        tool: 'everything__echo',
        output: 'Echo: from the agent',
        failed: false,
      }),
    );
    expect(events.at(-1)).toMatchObject({ type: 'result', outcome: 'done' });
    const asked = JSON.stringify(model.calls);
    expect(asked).toContain('everything__echo');
    expect((await client.tools.calls({ chat: 'servers', limit: 1 }))[0]).toMatchObject({
      tool: 'everything__echo',
      outcome: 'ok',
    });
  });
});

async function httpServer(): Promise<{ readonly url: string } & AsyncDisposable> {
  const { fetch: answer } = createMcpHandler(() => {
    const server = new McpServer({ name: 'web', version: '0' });
    const inputSchema = z.object({ name: z.string() });
    server.registerTool('greet', { description: 'Greets.', inputSchema }, ({ name }) => ({
      content: [{ type: 'text', text: `Hello, ${name}` }],
    }));
    server.registerTool('reveal', { description: 'Says what it was sent.' }, ({ http: sent }) => ({
      content: [{ type: 'text', text: `x-key: ${sent?.req?.headers.get('x-key')}` }],
    }));
    server.registerTool('huge', { description: 'Says too much.' }, () => ({
      content: [{ type: 'text', text: 'x'.repeat(11 * 1024 * 1024) }],
    }));
    return server;
  });
  const handler = getRequestListener((request) => answer(request));
  const http = createServer((request, response) => {
    const { authorization, 'x-key': own } = request.headers;
    if (request.url === '/astray') response.writeHead(307, { location: '/mcp' }).end();
    else if (authorization === `Bearer ${key}` || own === key) void handler(request, response);
    else response.writeHead(401).end();
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}
