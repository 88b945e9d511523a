import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isGeodeError } from '../../src/base/errors.ts';
import { longestLine } from '../../src/mcp/sessions/line-transport.ts';
import { chatNamespace } from '../../src/seams/chat-memory.ts';
import type { PersistentSandbox } from '../../src/seams/persistent.ts';
import { type HostWorld, hostWorld, type OpenedHost } from '../host/world.ts';
import { call, done } from '../mcp/call.ts';
import { bridge, connectIn, ProcessTransport } from '../mcp/in-sandbox.ts';
import { eventually } from './harness.ts';

/** A wall around sandboxes whose programs use the host's tools. */
export interface ToolWalls {
  readonly name: string;
  /** Why it cannot be tried here. */
  readonly missing?: string | undefined;
  readonly settings: Readonly<Record<string, string>>;
}

const patience = { timeout: 300_000 } as const;

export function toolContract({ name, missing, settings }: ToolWalls): void {
  const reason = missing === undefined ? '' : ` (skipped: ${missing})`;
  describe.skipIf(missing !== undefined)(`tools in a ${name} sandbox${reason}`, patience, () => {
    let world: HostWorld;
    let opened: OpenedHost;
    let sandbox: PersistentSandbox;
    beforeAll(async () => {
      world = hostWorld(settings);
      opened = await world.open();
      sandbox = await opened.host.sandboxes.of('alice').getOrCreate('tools');
    }, 300_000);
    afterAll(async () => {
      await world?.[Symbol.asyncDispose]();
    }, 300_000);
    const sessions = () => opened.host.tools;
    const lineWith = (transport: ProcessTransport, found: (line: string) => boolean) =>
      eventually(async () => transport.lines.find(found), 'an answer', 60_000);

    it('MCP-1, MCP-4: the official client remembers through the bridge, as the user of the sandbox', async () => {
      const session = await sessions().open(sandbox);
      expect(session).toMatchObject({ user: 'alice', chat: 'tools', sandboxId: sandbox.id });
      await using inside = await connectIn(sandbox);
      const { tools } = await inside.client.listTools();
      expect(tools.map((tool) => tool.name).sort()).toEqual([...sessions().initial].sort());
      await done(inside.client, 'memory_store', { content: 'The crane is yellow.', id: 'crane' });
      const ofChat = opened.host.memory.in(chatNamespace('alice', 'tools'));
      expect(await ofChat.get('crane')).toMatchObject({
        content: 'The crane is yellow.',
        sources: ['sandbox of tools: mcp'],
      });
      for (const other of ['alice', 'tools', chatNamespace('alice', 'other'), chatNamespace('bob', 'tools')])
        expect(await opened.host.memory.in(other).list(), other).toMatchObject({ total: 0 });
    });

    it('MCP-3: the bridge is the guest program, in a folder that is read-only inside', async () => {
      const { server, place } = await sessions().open(sandbox);
      const { stdout } = await sandbox.exec({
        argv: ['/bin/sh', '-c', 'readlink "$(command -v geode-mcp)"; stat -c "%a %U" "$GEODE_MCP_SOCKET"'],
      });
      expect(stdout.split('\n')[0]).toBe(place.guest);
      expect(stdout).toMatch(/^600 /m);
      const argv = [server.command, ...server.args] as const;
      await using inside = await connectIn(sandbox, 'newest', { ...bridge, argv: [...argv] });
      expect((await inside.client.listTools()).tools.length).toBeGreaterThan(0);
    });

    it('MCP-2: answers in every version of the protocol', async () => {
      await sessions().open(sandbox);
      for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', 'newest']) {
        await using inside = await connectIn(sandbox, version);
        if (version !== 'newest') await inside.client.ping();
        expect((await inside.client.listTools()).tools.length, version).toBeGreaterThan(0);
        const spoken = version === 'newest' ? '2026-07-28' : version;
        expect(inside.client.getNegotiatedProtocolVersion(), version).toBe(spoken);
      }
    });

    it('MCP-2: an invalid line is refused with its code, and the connection continues', async () => {
      await sessions().open(sandbox);
      const transport = new ProcessTransport(sandbox);
      await transport.start();
      const codeOf = async (line: string, id: number | null) => {
        const seen = transport.lines.length;
        await transport.say(`${line}\n`);
        const found = await eventually(
          async () => transport.lines.slice(seen).find((each) => JSON.parse(each).id === id),
          `an answer to ${line.slice(0, 80)}`,
          60_000,
        );
        return JSON.parse(found).error?.code;
      };
      const request = (id: number, method: string, params: object = {}) =>
        JSON.stringify({ jsonrpc: '2.0', id, method, params });
      const initialize = request(1, 'initialize', {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'raw', version: '0' },
      });
      expect(await codeOf(initialize, 1)).toBeUndefined();
      await transport.say('\n\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
      await transport.say('{"jsonrpc":"2.0","method":"notifications/of-nobody"}\n');
      expect(await codeOf('{ this is no JSON', null)).toBe(-32700);
      expect(await codeOf('{"id":7,"of":"another kind"}', 7)).toBe(-32600);
      expect(await codeOf(request(2, 'no/such/method'), 2)).toBe(-32601);
      expect(await codeOf(request(3, 'tools/call', { arguments: {} }), 3)).toBe(-32602);
      await sandbox.files.mkdir('a-folder');
      const folder = { uri: `file://${sandbox.workdir}/a-folder` };
      expect(await codeOf(request(4, 'resources/read', folder), 4)).toBe(-32603);
      const long = (bytes: number) => request(5, 'ping', { padding: 'x'.repeat(bytes) });
      expect(await codeOf(long(longestLine), null)).toBe(-32600);
      expect(await codeOf(long(longestLine - 1000), 5)).toBeUndefined();
      expect(await codeOf(request(6, 'ping'), 6)).toBeUndefined();
      // Nothing was said to the notifications and the empty lines.
      expect(transport.lines).toHaveLength(9);
      await transport.close();
      expect(await transport.ended).toBe(0);
    });

    it('MCP-2: resources are the files of the workspace and the entries of memory', async () => {
      await sessions().open(sandbox);
      await sandbox.files.write('notes/a b.txt', 'first');
      await sandbox.files.write('bytes', new Uint8Array([0, 255, 254]));
      await opened.host.memory
        .in('alice')
        .store({ key: 'fact', content: 'Water is wet.', category: 'core', source: 'x' });
      const uri = `file://${sandbox.workdir}/notes/a%20b.txt`;
      for (const version of ['2025-06-18', 'newest']) {
        await using inside = await connectIn(sandbox, version);
        const { client } = inside;
        const listed: string[] = [];
        for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
          const page = await client.listResources(cursor === undefined ? {} : { cursor });
          listed.push(...page.resources.map((resource) => resource.uri));
          cursor = page.nextCursor;
        }
        expect(listed).toContain(uri);
        expect(listed).toContain('memory://entry/fact');
        expect((await client.readResource({ uri })).contents).toMatchObject([{ uri, text: 'first' }]);
        expect((await client.readResource({ uri: 'memory://entry/fact' })).contents).toMatchObject([
          { text: 'Water is wet.' },
        ]);
        const bytes = await client.readResource({ uri: `file://${sandbox.workdir}/bytes` });
        expect(bytes.contents).toMatchObject([{ blob: 'AP/+' }]);
        for (const none of [
          'file:///etc/passwd',
          `file://${sandbox.workdir}/../etc/passwd`,
          'memory://entry/none',
        ])
          await expect(client.readResource({ uri: none }), none).rejects.toThrow();
        expect(await call(client, 'read_resource', { uri: 'file:///etc/passwd' })).toMatchObject({
          ...{ failed: true, value: { code: 'file_not_found' } },
        });
      }
    });

    it('MCP-2: notifies subscribers of changes', async () => {
      await sessions().open(sandbox);
      await sandbox.files.write('watched.txt', '0');
      const file = `file://${sandbox.workdir}/watched.txt`;
      const entry = 'memory://entry/news';
      for (const version of ['2025-11-25', 'newest']) {
        await using inside = await connectIn(sandbox, version);
        const { client } = inside;
        const heard = new Set<string>();
        client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
          heard.add(params.uri);
        });
        if (version === 'newest') await client.listen({ resourceSubscriptions: [file, entry] });
        else for (const uri of [file, entry]) await client.subscribeResource({ uri });
        let count = 0;
        await eventually(
          async () => {
            count += 1;
            await sandbox.files.write('watched.txt', `${version} ${count}`);
            await done(client, 'memory_store', { content: `News ${version} ${count}.`, id: 'news' });
            return heard.has(file) && heard.has(entry);
          },
          'news of both',
          60_000,
        );
      }
    });

    it('MCP-4: a session has exactly its list of tools, and the list can be replaced', async () => {
      await sessions().open(sandbox, { tools: ['memory_search'] });
      {
        await using inside = await connectIn(sandbox);
        expect((await inside.client.listTools()).tools.map((tool) => tool.name)).toEqual(['memory_search']);
        const refused = await call(inside.client, 'memory_store', { content: 'x' }).catch((error) => error);
        expect(refused instanceof Error || refused.failed).toBe(true);
        await expect(inside.client.listResources()).resolves.toMatchObject({ resources: [] });
        await sessions().open(sandbox, { tools: ['memory_store'] });
        await eventually(
          async () => {
            const found = await inside.client.listTools().catch(() => undefined);
            return found?.tools[0]?.name === 'memory_store';
          },
          'the other tool, through the same bridge',
          60_000,
        );
      }
      const wrong = await sessions()
        .open(sandbox, { tools: ['rm_rf'] })
        .catch((error) => error);
      expect(isGeodeError(wrong, 'invalid_input') && wrong.hint).toContain('memory_search');
      await sessions().open(sandbox, { tools: [...sessions().initial] });
    });

    it('MCP-1: connections and requests side by side', async () => {
      await sessions().open(sandbox);
      await using all = new AsyncDisposableStack();
      const clients = await Promise.all([1, 2, 3].map(async () => all.use(await connectIn(sandbox)).client));
      const calls = clients.flatMap((client, who) =>
        Array.from({ length: 20 }, (_, index) =>
          done(client, 'memory_store', { content: `Entry ${index} of ${who}.`, id: `side/${who}/${index}` }),
        ),
      );
      expect(await Promise.all(calls)).toHaveLength(60);
    });

    it('MCP-1: create, get, replace, close and close all; an unknown one is no error', async () => {
      const first = await sessions().open(sandbox);
      expect(await sessions().open(sandbox)).toMatchObject({ id: first.id });
      expect(sessions().get('alice', 'tools')).toMatchObject({ id: first.id });
      expect(sessions().get('bob', 'tools')).toBeUndefined();
      await using inside = await connectIn(sandbox);
      const second = await sessions().replace(sandbox);
      expect(second.id).not.toBe(first.id);
      await eventually(
        () =>
          inside.client.listTools().then(
            () => true,
            () => false,
          ),
        'an answer in the new session',
        60_000,
      );
      expect(await sessions().close('alice', 'nothing')).toBe(false);
      expect(await sessions().close('alice', 'tools')).toBe(true);
      expect(sessions().list('alice')).toEqual([]);
      expect(await inside.transport.ended).toBe(1);
      expect(inside.transport.stderr.join('')).toContain('geode tools open');
      await sessions().open(sandbox);
      expect(await sessions().closeAll('bob')).toBe(0);
      expect(await sessions().closeAll('alice')).toBe(1);
    });

    it('MCP-3: a bridge exits on request and cancels its open calls', async () => {
      await sessions().open(sandbox, { tools: ['ask_person'] });
      const transport = new ProcessTransport(sandbox);
      await transport.start();
      const hello = {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'raw', version: '0' },
      };
      await transport.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params: hello });
      await lineWith(transport, (line) => JSON.parse(line).id === 1);
      const params = { name: 'ask_person', arguments: { question: 'Shall it end?' } };
      await transport.send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params });
      await eventually(async () => opened.host.approvals.list('alice').length > 0, 'the question', 60_000);
      await transport.process.signal('SIGTERM');
      expect(await transport.ended).toBe(128 + 15);
      const outcome = async () => sessions().calls('alice', { limit: 1 })[0];
      await eventually(
        async () => {
          const last = await outcome();
          return last?.tool === 'ask_person' && last.outcome === 'cancelled';
        },
        'the end of the call',
        60_000,
      );
    });

    it('MCP-1: the session continues after a stop and start of the sandbox', async () => {
      await sessions().open(sandbox, { tools: [...sessions().initial] });
      const own = opened.host.sandboxes.of('alice');
      await own.stop('tools');
      sandbox = await own.start('tools');
      await using inside = await connectIn(sandbox);
      await done(inside.client, 'memory_search', { query: 'crane' });
    });
  });
}
