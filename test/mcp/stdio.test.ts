import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import { geodeProgram, patience, patiently, type SandboxHome, sandboxHome } from '../cli/sandbox-home.ts';
import { call, done } from './call.ts';

const { bubblewrap } = inject('engines');
const reason = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;

describe.skipIf(!bubblewrap.available)(`MCP-5: geode mcp${reason}`, patience, () => {
  let home: SandboxHome;
  beforeAll(async () => {
    home = await sandboxHome({ GEODE_RUNTIME_NAME: 'bubblewrap' });
  });
  afterAll(() => home[Symbol.asyncDispose]());

  /** A client with a `geode mcp` of its own, which ends with it. */
  async function connect(args: readonly string[] = []) {
    const client = new Client({ name: 'test', version: '0' }, { versionNegotiation: { mode: 'auto' } });
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [geodeProgram, 'mcp', ...args],
      env: { ...home.env },
      cwd: home.folder,
    });
    await client.connect(transport, { timeout: 60_000 });
    return { client, [Symbol.asyncDispose]: () => client.close() };
  }

  it('starts a host when a tool needs it, and a new host when that host was killed', async () => {
    await using mcp = await connect();
    const { client } = mcp;
    expect(client.getServerVersion()).toMatchObject({ name: 'geode' });
    expect(await done(client, 'sandbox_create', { chat: 'stays' })).toMatchObject({ user: 'local' });
    await done(client, 'file_write', { chat: 'stays', path: 'note', content: 'kept' });
    const first = await home.host();
    process.kill(first.pid, 'SIGKILL');
    await patiently(async () => !isAlive(first.pid), 'the end of the host');
    expect(await done(client, 'exec', { chat: 'stays', command: 'cat note' })).toMatchObject({
      ...{ stdout: 'kept', exitCode: 0 },
    });
    expect((await home.host()).pid).not.toBe(first.pid);
    expect(await home.ok(['sandbox', 'exec', 'stays', '--', 'cat', 'note'])).toBe('kept');
  });

  it('acts as the user given by --user', async () => {
    await using own = await connect();
    await using other = await connect(['--user', 'bob']);
    await done(own.client, 'sandbox_create', { chat: 'mine' });
    expect(await done(other.client, 'sandbox_list')).toEqual({ sandboxes: [], total: 0 });
    expect(await call(other.client, 'exec', { chat: 'mine', command: 'true' })).toMatchObject({
      ...{ failed: true, value: { code: 'sandbox_not_found' } },
    });
  });

  it('ends a command when its caller cancels', async () => {
    await using mcp = await connect();
    await done(mcp.client, 'sandbox_create', { chat: 'slow' });
    const socket = (await home.host()).serves?.api ?? '';
    const sandbox = createClient(unixTransport(socket)).sandboxes.of('slow');
    const running = async () =>
      (await sandbox.processes()).processes.filter(({ state }) => state === 'running').length;
    const giveUp = new AbortController();
    const calling = call(
      mcp.client,
      'exec',
      { chat: 'slow', command: 'sleep 600' },
      { signal: giveUp.signal },
    );
    calling.catch(() => {});
    await patiently(async () => (await running()) === 1, 'the command');
    giveUp.abort();
    await expect(calling).rejects.toThrow();
    await patiently(async () => (await running()) === 0, 'the end of the command');
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
