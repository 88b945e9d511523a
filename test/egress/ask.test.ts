/** Connections that wait for a person, and policies that are learned, on a real host with real walls. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createClient, type GeodeClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import type { Approval, ApprovalDecision } from '../../src/seams/approval.ts';
import { eventually } from '../contracts/harness.ts';
import { type HostWorld, hostWorld, type OpenedHost } from '../host/world.ts';
import { echoUpstream, httpUpstream, type Upstream } from './upstreams.ts';

const { bubblewrap } = inject('engines');
const patience = { timeout: 180_000 } as const;

/** The address is private, so it must not be taken for the sandbox's own. */
const get = `
import os, sys, urllib.request, urllib.error
os.environ.pop('no_proxy', None); os.environ.pop('NO_PROXY', None)
for url in sys.argv[1:]:
    try: print(urllib.request.urlopen(url, timeout=100).read().decode())
    except urllib.error.HTTPError as error: print(error.code, error.reason, error.read().decode())
    except Exception as error: print('failed', error)
`;

describe.skipIf(!bubblewrap.available)(
  `the mode ask${bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`}`,
  patience,
  () => {
    let world: HostWorld;
    let opened: OpenedHost;
    let operator: GeodeClient;
    let server: Upstream;
    let own: string;
    beforeAll(async () => {
      world = hostWorld({ GEODE_RUNTIME_NAME: 'bubblewrap', GEODE_EGRESS_ASK_TIMEOUT: '100' });
      opened = await world.open();
      operator = createClient(unixTransport(opened.socket.path)).as('ann');
      server = await httpUpstream();
      own = `127.0.0.1:${server.port}`;
    }, 120_000);
    afterAll(async () => {
      await server?.[Symbol.asyncDispose]();
      await world?.[Symbol.asyncDispose]();
    }, 120_000);

    const keyOf = (scopes: Parameters<typeof opened.host.keys.create>[0]['scopes']) =>
      createClient({
        url: opened.gateway.url,
        key: opened.host.keys.create({ user: 'ann', scopes }).secret,
      });
    const fetching = (chat: string, ...urls: string[]) =>
      operator.sandboxes.of(chat).exec({ argv: ['python3', '-c', get, ...urls], timeoutMs: 150_000 });
    const asked = (client = operator): Promise<Approval> =>
      eventually(async () => (await client.approvals.list())[0] ?? false, 'a question', 60_000);
    const answer = async (decision: ApprovalDecision, more: { forMs?: number } = {}) => {
      const { id } = await asked();
      return await operator.approvals.decide(id, { decision, ...more });
    };
    const url = (path: string) => `http://${own}${path}`;
    const ask = { mode: 'ask', allow: [] } as const;

    it('NET-3: holds a connection that no rule decides; a person allows it once, for the sandbox, or until a time', async () => {
      const { id } = await operator.sandboxes.getOrCreate('demo', { egress: ask });
      const once = fetching('demo', url('/once?secret=1'));
      expect(await asked()).toMatchObject({
        user: 'ann',
        chat: 'demo',
        sandbox: id,
        kind: 'egress',
        title: `Connect to the private address ${own}`,
        detail: `${own}\nGET http://${own}/once`,
        state: 'open',
      });
      expect(server.seen).toEqual([]);
      await answer('allow-once');
      expect((await once).stdout).toBe(`hello from ${own}/once?secret=1\n`);
      expect(await once).not.toHaveProperty('denied');

      const session = fetching('demo', url('/session'));
      await answer('allow-session');
      expect((await session).stdout).toContain('hello');
      expect((await fetching('demo', url('/again'))).stdout).toBe(`hello from ${own}/again\n`);
      expect(await operator.approvals.list()).toEqual([]);
      expect(await operator.egress.grants()).toMatchObject([
        { host: '127.0.0.1', port: server.port, sandboxId: id, private: true, until: null },
      ]);

      await operator.sandboxes.getOrCreate('other', { egress: ask });
      const always = fetching('other', url('/always'));
      const { until } = await answer('allow-always', { forMs: 3_600_000 });
      expect(until).toBeGreaterThan(Date.now());
      expect((await always).stdout).toContain('hello');
      const run = await operator.runs.run(get, 'python', { argv: [url('/run')], egress: ask });
      expect(run.stdout).toBe(`hello from ${own}/run\n`);
      expect(await operator.approvals.list()).toEqual([]);

      // A request is in the log when its last byte has passed, which may be after the program has ended.
      const log = await eventually(async () => {
        const records = await operator.egress.log({ sandbox: id });
        return records.length >= 3 && records;
      }, 'all three in the log');
      expect(log.map(({ path, rule, verdict }) => `${verdict} ${path} ${rule}`)).toEqual([
        'allowed /again ask (for this sandbox)',
        'allowed /session ask (for this sandbox)',
        'allowed /once ask (once)',
      ]);
      expect(await operator.egress.removeGrant({ host: '127.0.0.1', port: server.port })).toBe(2);
      await operator.sandboxes.remove('other');
    });

    it('NET-3: a denied connection is reported to the program and in the result of the command, and the person is not asked again', async () => {
      await operator.sandboxes.getOrCreate('demo', { egress: ask });
      const before = server.seen.length;
      const denied = fetching('demo', url('/no'), url('/no'));
      await answer('deny');
      const result = await denied;
      const reason = `${own} was denied by a person`;
      expect(result.stdout).toContain(`403 Geode: ${reason}`);
      expect(result.denied).toMatchObject([
        { host: '127.0.0.1', port: server.port, rule: 'ask', reason },
        { host: '127.0.0.1', port: server.port, rule: 'ask', reason },
      ]);
      expect(result.denied?.[0]?.ask).toBe(`geode egress allow ann/demo ${own}`);
      expect(server.seen).toHaveLength(before);
      expect(await operator.approvals.list()).toEqual([]);
      // A rule that decides it is no question any more, either way.
      await operator.sandboxes.of('demo').egress.allow([own]);
      expect((await fetching('demo', url('/yes'))).stdout).toContain('hello');
      await operator.sandboxes.of('demo').egress.deny([own]);
      expect((await fetching('demo', url('/no'))).stdout).toContain('is denied by the rule');
      await operator.sandboxes.remove('demo');
    });

    it('only the operator can allow a private address; no user can allow a name that resolves to one', async () => {
      await operator.sandboxes.getOrCreate('inner', { egress: ask });
      const user = keyOf(['approvals', 'sandboxes:read', 'sandboxes:write']);
      const held = fetching('inner', url('/private'));
      const { id } = await asked(user);
      await user.approvals.decide(id, { decision: 'allow-always' });
      expect((await held).stdout).toContain('only the operator of the host can allow');
      expect(await operator.egress.grants()).toEqual([]);
      const named = fetching('inner', `http://localhost.localdomain:${server.port}/`);
      await answer('allow-once');
      expect((await named).stdout).not.toContain('hello');
      await operator.sandboxes.remove('inner');
    });

    it('many connections to one target are one question; SOCKS, tunnels and bridges are held too', async () => {
      await using echo = await echoUpstream();
      await operator.sandboxes.getOrCreate('many', {
        egress: {
          mode: 'ask',
          bridges: [{ port: 7777, to: { host: '127.0.0.1', port: echo.port } }],
        },
      });
      const code = `
import socket, sys, threading, os
port = ${echo.port}
proxy = int(os.environ['HTTP_PROXY'].rsplit(':', 1)[1].strip('/'))
said = []
def talk(at, prepare):
    link = socket.create_connection(('127.0.0.1', at), 100)
    link.settimeout(100)
    prepare(link)
    link.sendall(b'\\x01ping')
    said.append(link.recv(5))
def connect(link):
    link.sendall(b'CONNECT 127.0.0.1:%d HTTP/1.1\\r\\n\\r\\n' % port)
    answer = b''
    while not answer.endswith(b'\\r\\n\\r\\n'): answer += link.recv(1)
    assert b' 200 ' in answer, answer
def socks(link):
    link.sendall(b'\\x05\\x01\\x00'); assert link.recv(2) == b'\\x05\\x00'
    link.sendall(b'\\x05\\x01\\x00\\x01\\x7f\\x00\\x00\\x01' + port.to_bytes(2, 'big'))
    assert link.recv(10)[1] == 0
talks = [(proxy, connect), (proxy, connect), (proxy, socks), (7777, lambda link: None)]
threads = [threading.Thread(target=talk, args=each) for each in talks]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(said), set(said))
`;
      const talking = operator.sandboxes
        .of('many')
        .exec({ argv: ['python3', '-c', code], timeoutMs: 150_000 });
      const { id } = await asked();
      expect(await operator.approvals.list()).toHaveLength(1);
      await operator.approvals.decide(id, { decision: 'allow-session' });
      const { stdout, stderr } = await talking;
      expect(`${stdout}${stderr}`).toBe("4 {b'\\x01ping'}\n");
      await operator.sandboxes.remove('many');
      expect(await operator.egress.grants()).toEqual([]);
    });

    it('removing a permission closes its connections, and waiting connections end with their sandbox', async () => {
      await using echo = await echoUpstream();
      await operator.sandboxes.getOrCreate('cut', {
        egress: { mode: 'ask', bridges: [{ port: 7777, to: { host: '127.0.0.1', port: echo.port } }] },
      });
      const code = `
import socket
link = socket.create_connection(('127.0.0.1', 7777), 100)
link.settimeout(100)
link.sendall(b'\\x01ping'); link.recv(5)
print('open', flush=True)
open('is-open', 'w').close()
print(link.recv(1))
`;
      const open = operator.sandboxes.of('cut').exec({ argv: ['python3', '-c', code], timeoutMs: 150_000 });
      await answer('allow-session');
      // Bytes have gone both ways, so that the program waits for the end alone.
      const { files } = operator.sandboxes.of('cut');
      await eventually(() => files.exists('is-open'), 'the connection', 60_000);
      expect(echo.connections.size).toBe(1);
      expect(await operator.egress.removeGrant({ host: '127.0.0.1', port: echo.port })).toBe(1);
      expect((await open).stdout).toBe("open\nb''\n");
      const held = fetching('cut', url('/never')).catch(() => undefined);
      const { id } = await asked();
      await operator.sandboxes.remove('cut');
      await held;
      expect(await operator.approvals.get(id)).toMatchObject({ state: 'withdrawn', decision: 'deny' });
    });

    it('NET-3: learns a policy that allows exactly the reached hosts', async () => {
      await using echo = await echoUpstream();
      const here = { host: '127.0.0.1', private: true };
      await operator.sandboxes.getOrCreate('school', {
        egress: {
          allow: [{ ...here, ports: [server.port] }, { ...here, ports: [echo.port] }, 'never-used.example'],
          deny: ['bad.example'],
        },
      });
      const { egress } = operator.sandboxes.of('school');
      await expect(egress.learned()).rejects.toMatchObject({ code: 'invalid_input' });
      expect((await egress.learn()).policy.mode).toBe('learn');
      await fetching('school', url('/lesson'), url('/lesson'), 'http://bad.example/', 'http://10.1.2.3/');
      const learned = {
        mode: 'allow-list',
        allow: [{ ...here, ports: [server.port], methods: ['GET'], paths: ['/lesson'] }],
        deny: [{ host: 'bad.example' }],
      };
      expect((await egress.learned({ apply: false })).policy).toEqual(learned);
      expect((await egress.get()).policy.mode).toBe('learn');
      expect((await egress.learned()).policy).toEqual(learned);
      expect((await egress.get()).policy).toEqual(learned);
      const again = await fetching('school', url('/lesson'), url('/exam'), `http://127.0.0.1:${echo.port}/`);
      expect(again.stdout).toMatch(/^hello from .*\/lesson\n403 /);
      expect(again.stdout.match(/^403 /gm)).toHaveLength(2);
      await operator.sandboxes.remove('school');
    });
  },
);

it.skipIf(!bubblewrap.available)(
  'NET-3: denies a connection without a decision at its deadline, and ignores a later decision',
  patience,
  async () => {
    await using world = hostWorld({ GEODE_RUNTIME_NAME: 'bubblewrap', GEODE_EGRESS_ASK_TIMEOUT: '1' });
    const { host, socket } = await world.open();
    const operator = createClient(unixTransport(socket.path)).as('ann');
    await operator.sandboxes.getOrCreate('alone', { egress: { mode: 'ask' } });
    const { stdout, denied } = await operator.sandboxes
      .of('alone')
      .exec({ argv: ['python3', '-c', get, 'http://some.example/'], timeoutMs: 150_000 });
    expect(stdout).toContain('403 Geode: some.example:80 was not decided by anybody within 1 s');
    expect(denied).toMatchObject([{ host: 'some.example', port: 80, rule: 'ask' }]);
    const [late] = host.approvals.list('ann', { state: 'all' });
    expect(late).toMatchObject({ state: 'expired', decision: 'deny', decidedBy: null });
    await expect(operator.approvals.decide(late?.id ?? '', { decision: 'allow-once' })).rejects.toMatchObject(
      {
        code: 'approval_decided',
      },
    );
  },
);
