import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Scope, scopes } from '../../src/contract/keys.ts';
import { mcpOverHttp } from '../../src/mcp/http.ts';
import { openLiveContexts } from '../../src/runs/contexts/live-contexts.ts';
import { createRuns } from '../../src/runs/index.ts';
import { startTestHost, type TestHost } from '../api/host-fixture.ts';
import { sendRaw } from '../api/raw-http.ts';
import { eventually } from '../contracts/harness.ts';
import { call, done } from './call.ts';

const { bubblewrap } = inject('engines');
const reason = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;

describe.skipIf(!bubblewrap.available)(`MCP-5: /mcp${reason}`, { timeout: 180_000 }, () => {
  let host: TestHost;
  const opened = new AsyncDisposableStack();

  beforeAll(async () => {
    host = await startTestHost({
      more({ runtime }, sandboxes) {
        const runs = opened.use(
          createRuns({
            runtimes: [runtime],
            choose: async () => runtime,
            images: {},
            pool: { floor: 0, ceiling: 0 },
            concurrency: 2,
            mostWaiting: 10,
            pullDeadlineMs: 60_000,
          }),
        );
        const contexts = opened.use(openLiveContexts({ sandboxes, open: (spec) => runtime.open(spec) }));
        return { runs, contexts, mcp: mcpOverHttp('0.0.0-test') };
      },
    });
  }, 120_000);
  afterAll(async () => {
    await opened.disposeAsync();
    await host?.[Symbol.asyncDispose]();
  }, 60_000);

  const connect = async (
    user: string,
    { granted = scopes, version = 'auto' }: { granted?: readonly Scope[]; version?: 'auto' | 'legacy' } = {},
  ) => {
    const client = new Client(
      { name: 'test', version: '0' },
      version === 'auto' ? { versionNegotiation: { mode: 'auto' } } : {},
    );
    const headers = { authorization: `Bearer ${host.server.key(user, granted)}` };
    const transport = new StreamableHTTPClientTransport(new URL('/mcp', host.server.url), {
      requestInit: { headers },
    });
    await client.connect(transport);
    opened.defer(() => client.close());
    return client;
  };

  it('offers every tool group in the current and the earlier protocol', async () => {
    const now = await connect('alice');
    const before = await connect('alice', { version: 'legacy' });
    expect(now.getNegotiatedProtocolVersion()).toBe('2026-07-28');
    expect(before.getNegotiatedProtocolVersion()).toBe('2025-11-25');
    for (const client of [now, before]) {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual([
        ...['sandbox_create', 'sandbox_list', 'sandbox_stop', 'sandbox_remove'],
        ...['exec', 'file_read', 'file_write', 'file_list'],
        ...['run_code', 'context_open', 'context_run', 'context_close'],
        ...['memory_search', 'memory_store', 'snapshot_take', 'snapshot_list', 'snapshot_restore', 'solve'],
      ]);
      for (const { inputSchema } of tools) expect(inputSchema).toMatchObject({ additionalProperties: false });
    }
  });

  it('works in a sandbox: commands, files, snapshots', async () => {
    const client = await connect('alice');
    expect(await done(client, 'sandbox_create', { chat: 'work' })).toMatchObject({ state: 'running' });
    await done(client, 'file_write', { chat: 'work', path: 'a/hello.txt', content: 'hello' });
    await done(client, 'file_write', {
      ...{ chat: 'work', path: 'bytes', content: '/wAB', encoding: 'base64' },
    });
    expect(await done(client, 'file_read', { chat: 'work', path: 'bytes' })).toMatchObject({
      ...{ base64: '/wAB', size: 3, next_offset: null },
    });
    expect(
      await done(client, 'file_read', { chat: 'work', path: 'a/hello.txt', offset: 1, length: 2 }),
    ).toMatchObject({ text: 'el', size: 5, next_offset: 3 });
    const { entries } = await done(client, 'file_list', { chat: 'work', depth: 2 });
    expect(entries).toContainEqual(expect.objectContaining({ path: expect.stringMatching(/hello\.txt$/) }));
    expect(
      await done(client, 'exec', { chat: 'work', command: 'cat a/hello.txt; echo oops >&2; exit 3' }),
    ).toMatchObject({ stdout: 'hello', stderr: 'oops\n', exitCode: 3 });

    await done(client, 'snapshot_take', { chat: 'work', name: 'before' });
    await done(client, 'exec', { chat: 'work', command: 'rm -r a' });
    await done(client, 'snapshot_restore', { chat: 'work', name: 'before' });
    expect(await done(client, 'snapshot_list', { chat: 'work' })).toMatchObject({ total: 1 });
    expect(await done(client, 'exec', { chat: 'work', command: 'cat a/hello.txt' })).toMatchObject({
      stdout: 'hello',
    });
    expect(await done(client, 'sandbox_stop', { chat: 'work' })).toMatchObject({ state: 'stopped' });
    expect(await done(client, 'sandbox_remove', { chat: 'work' })).toEqual({ removed: true });
  });

  it('runs code, keeps variables, remembers', async () => {
    const client = await connect('alice');
    expect(await done(client, 'run_code', { language: 'python', code: 'print(6 * 7)' })).toMatchObject({
      ...{ success: true, stdout: '42\n' },
    });
    const { context } = await done(client, 'context_open', { language: 'python' });
    await done(client, 'context_run', { context, code: 'x = 20' });
    expect(await done(client, 'context_run', { context, code: 'x + 1' })).toMatchObject({ value: '21' });
    await done(client, 'context_close', { context });
    expect(await call(client, 'context_run', { context, code: 'x' })).toMatchObject({
      ...{ failed: true, value: { code: 'context_not_found' } },
    });
    await done(client, 'memory_store', { content: 'Deploys run from the release branch.', id: 'deploys' });
    const { results } = await done(client, 'memory_search', { query: 'release branch' });
    expect(results).toEqual([expect.objectContaining({ id: 'deploys', sources: ['mcp'] })]);
  });

  it('answers a failure with its code and the next step', async () => {
    const client = await connect('alice');
    expect(await call(client, 'exec', { chat: 'nowhere', command: 'true' })).toMatchObject({
      failed: true,
      value: { code: 'sandbox_not_found', hint: expect.stringContaining('sandboxes') },
    });
    // A mistake in the arguments does not reach the tool.
    const refused = await client
      .callTool({ name: 'exec', arguments: { chat: 'work' } })
      .then(({ isError }) => (isError === true ? 'refused' : 'taken'))
      .catch(() => 'refused');
    expect(refused).toBe('refused');
  });

  it('truncates long output of a command', async () => {
    const client = await connect('alice');
    await done(client, 'sandbox_create', { chat: 'loud' });
    const { stdout, truncated } = await done(client, 'exec', {
      ...{ chat: 'loud', command: 'head -c 3000000 /dev/zero | tr "\\0" x' },
    });
    expect(stdout).toHaveLength(100_000);
    expect(truncated).toBe(true);
  });

  it.each(['auto', 'legacy'] as const)('ends a command when its caller cancels (%s)', async (version) => {
    const client = await connect('alice', { version });
    const chat = `slow ${version}`;
    await done(client, 'sandbox_create', { chat });
    const sandbox = host.server.client('alice').sandboxes.of(chat);
    const running = async () =>
      (await sandbox.processes()).processes.filter(({ state }) => state === 'running').length;
    const giveUp = new AbortController();
    const calling = call(client, 'exec', { chat, command: 'sleep 600' }, { signal: giveUp.signal });
    calling.catch(() => {});
    await eventually(async () => (await running()) === 1, 'the command', 60_000);
    giveUp.abort();
    await expect(calling).rejects.toThrow();
    await eventually(async () => (await running()) === 0, 'the end of the command', 60_000);
  });

  it('refuses the session of another caller', async () => {
    const opening = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'test', version: '0' } },
    };
    const accept = { accept: 'application/json, text/event-stream' };
    const alice = host.server.caller('alice');
    const opened = await alice('/mcp', { json: opening, headers: accept });
    expect(opened.text).toContain('"protocolVersion":"2024-11-05"');
    const session = opened.headers.get('mcp-session-id') ?? '';
    expect(session).not.toBe('');
    const ask = { json: { jsonrpc: '2.0', id: 2, method: 'tools/list' } };
    const headers = { ...accept, 'mcp-session-id': session };
    expect((await alice('/mcp', { ...ask, headers })).status).toBe(200);
    expect((await host.server.caller('bob')('/mcp', { ...ask, headers })).status).toBe(404);
    expect((await alice('/mcp', { method: 'DELETE', headers })).status).toBe(200);
    expect((await alice('/mcp', { ...ask, headers })).status).toBe(404);
  });

  it('shows a user nothing of another', async () => {
    const alice = await connect('alice');
    const bob = await connect('bob');
    await done(alice, 'sandbox_create', { chat: 'private' });
    await done(alice, 'file_write', { chat: 'private', path: 'secret', content: 'hers' });
    await done(alice, 'memory_store', { content: 'The code word is heliotrope.' });
    expect(await done(bob, 'sandbox_list')).toEqual({ sandboxes: [], total: 0 });
    for (const [name, input] of [
      ['exec', { command: 'cat secret' }],
      ['file_read', { path: 'secret' }],
      ['snapshot_list', {}],
      ['sandbox_stop', {}],
    ] as const) {
      expect(await call(bob, name, { chat: 'private', ...input })).toMatchObject({
        ...{ failed: true, value: { code: 'sandbox_not_found' } },
      });
    }
    expect(await done(bob, 'sandbox_remove', { chat: 'private' })).toEqual({ removed: false });
    expect(await done(bob, 'memory_search', { query: 'heliotrope' })).toMatchObject({ results: [] });
  });

  it('refuses tools outside the scopes of a key', async () => {
    const client = await connect('alice', { granted: ['memory:read'] });
    expect(await call(client, 'memory_store', { content: 'no' })).toMatchObject({
      ...{ failed: true, value: { code: 'forbidden' } },
    });
  });

  it('ends a stream for changes at once', async () => {
    const { status, text } = await host.server.caller('alice')('/mcp', {
      headers: {
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'subscriptions/listen',
      },
      json: {
        jsonrpc: '2.0',
        id: 1,
        method: 'subscriptions/listen',
        params: {
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientCapabilities': {},
          },
          notifications: { toolsListChanged: true },
        },
      },
    });
    expect(status).toBe(200);
    expect(text).toMatch(/"notifications\/subscriptions\/acknowledged","params":\{"notifications":\{\}/);
    expect(text).toContain('"resultType":"complete"');
  });

  it('refuses a wrong key, a foreign page and a foreign name', async () => {
    const url = new URL('/mcp', host.server.url);
    const ask = (headers: Readonly<Record<string, string>>) =>
      fetch(url, {
        method: 'POST',
        headers: {
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
          ...headers,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      });
    const authorization = `Bearer ${host.server.key('alice')}`;
    expect((await ask({ authorization })).status).toBe(200);
    expect((await ask({})).status).toBe(401);
    const wrong = await ask({ authorization: `${authorization}x` });
    expect(wrong.status).toBe(401);
    expect(wrong.headers.get('www-authenticate')).toBe('Bearer');
    const foreign = await ask({ authorization, origin: 'https://evil.example' });
    expect(foreign.status).toBe(403);
    expect(await foreign.json()).toMatchObject({ code: 'origin_refused' });
    expect((await sendRaw(url.href, { authorization, host: 'evil.example' }, 'POST')).status).toBe(403);
    const caller = host.server.caller('alice');
    expect(await caller('/mcp', { json: {}, headers: { 'geode-user': 'bob' } })).toMatchObject({
      ...{ status: 403, body: { code: 'forbidden' } },
    });
  });
});
