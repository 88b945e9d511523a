import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Resolve, systemResolve } from '../../src/egress/proxy/resolve.ts';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import type { EgressSpec } from '../../src/seams/egress.ts';
import type { Sandbox } from '../../src/seams/sandbox.ts';
import { eventually, type Harness, openHarness } from '../contracts/harness.ts';
import { greeting, withEncryptedHello } from './client-hellos.ts';
import {
  allowing,
  getUrl,
  hatchOf,
  type Opened,
  python,
  specOf,
  testNames,
  toHere,
} from './hatch-fixture.ts';
import { httpUpstream, tlsUpstream, type Upstream } from './upstreams.ts';

const { bubblewrap } = inject('engines');

/** Sends each text over its own connection to the proxy, and prints the answers. */
const sendRaw = `
import os, socket, sys
host, port = os.environ['HTTP_PROXY'][7:].split(':')
for text in sys.argv[1:]:
    s = socket.create_connection((host, int(port)), 40)
    s.sendall(text.encode('latin1').decode('unicode_escape').encode('latin1'))
    got = b''
    try:
        while True:
            chunk = s.recv(65536)
            if not chunk: break
            got += chunk
    except (ConnectionError, TimeoutError): pass
    print(got.split(b'\\r\\n')[0].decode('latin1'), '|', got.split(b'\\r\\n\\r\\n', 1)[-1].decode('latin1').replace('\\n', ' '))
`;

describe.skipIf(!bubblewrap.available)(
  `attacks on the hatch${bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`}`,
  () => {
    let harness: Harness;
    let plain: Upstream;
    let tls: Upstream;
    let sandbox: Sandbox;
    beforeAll(async () => {
      [harness, plain, tls] = await Promise.all([
        openHarness(bubblewrapRuntime),
        httpUpstream(),
        tlsUpstream(),
      ]);
      sandbox = await harness.open();
    });
    afterAll(async () => {
      await harness?.close();
      await Promise.all([plain, tls].map((server) => server?.[Symbol.asyncDispose]()));
    });

    const attack = async (
      spec: EgressSpec,
      texts: readonly string[],
      resolve?: Resolve,
    ): Promise<{ answers: readonly string[]; opened: Opened }> => {
      const opened = await hatchOf(sandbox, spec, resolve);
      using _hatch = opened.hatch;
      const result = await python(sandbox, opened, sendRaw, ...texts);
      expect(result.stderr).toBe('');
      return { answers: result.stdout.trim().split('\n'), opened };
    };
    const get = (url: string, ...headers: string[]) =>
      `GET ${url} HTTP/1.1\\r\\nConnection: close\\r\\n${headers.map((line) => `${line}\\r\\n`).join('')}\\r\\n`;

    it('NET-2: private, metadata, mapped and strangely written addresses are refused under allow-all', async () => {
      const before = plain.connections.size;
      const hosts = [
        ...[
          '127.0.0.1',
          '127.1',
          '2130706433',
          '0x7f000001',
          '0177.0.0.1',
          'localhost.test',
          'LOCALHOST.test.',
        ],
        ...[
          '169.254.169.254',
          '10.0.0.1',
          '[::1]',
          '[::ffff:127.0.0.1]',
          '[::ffff:7f00:1]',
          '[64:ff9b::7f00:1]',
        ],
        ...[
          '[2002:7f00:1::]',
          '[::127.0.0.1]',
          '[fe80::1]',
          '[2001:0:1::]',
          '0.0.0.0',
          '100.64.0.1',
          '224.0.0.1',
        ],
      ];
      const texts = hosts.flatMap((host) => [
        get(`http://${host}:${plain.port}/`),
        `CONNECT ${host}:${plain.port} HTTP/1.1\\r\\n\\r\\n`,
      ]);
      const { answers } = await attack(specOf({ mode: 'allow-all', allow: [], deny: [] }), texts);
      expect(answers).toHaveLength(texts.length);
      for (const [index, answer] of answers.entries())
        expect(answer, texts[index]).toMatch(/^HTTP\/1\.1 (400|403) /);
      expect(plain.seen).toEqual([]);
      expect(plain.connections.size).toBe(before);
    });

    it('a name is refused when one of its addresses is private, and when it changes after the check', async () => {
      const both: Resolve = async () => ['8.8.8.8', '127.0.0.1'];
      const first = await attack(
        specOf({ mode: 'allow-all', allow: [], deny: [] }),
        [get('http://mixed.test/')],
        both,
      );
      expect(first.answers[0]).toContain(
        '403 Geode: mixed.test:80 resolves to 127.0.0.1, which is not public (loopback)',
      );
      // It leads elsewhere with every question; what is dialled is what was checked, so one question is all there is.
      let asked = 0;
      const rebinding: Resolve = async () => {
        asked += 1;
        return [asked === 1 ? '127.0.0.1' : '169.254.169.254'];
      };
      const second = await attack(
        allowing(toHere('rebinding.test', plain.port)),
        [get(`http://rebinding.test:${plain.port}/once`)],
        rebinding,
      );
      expect(second.answers[0]).toContain('200 OK');
      expect(asked).toBe(1);
    });

    it('NET-2: resolves names by the system resolver, and checks its answers', async () => {
      const url = `http://localhost:${plain.port}/by-name`;
      const allowed = await attack(allowing(toHere('localhost', plain.port)), [get(url)], systemResolve);
      expect(allowed.answers[0]).toContain('200 OK');
      expect(plain.seen.at(-1)?.url).toBe('/by-name');
      const address = expect.stringMatching(/^(127\.\d+\.\d+\.\d+|::1)$/);
      await eventually(async () => allowed.opened.audit.length > 0, 'the request in the audit');
      expect(allowed.opened.audit).toMatchObject([{ host: 'localhost', verdict: 'allowed', address }]);
      const open = specOf({ mode: 'allow-all', allow: [], deny: [] });
      const before = plain.connections.size;
      const { answers } = await attack(open, [get(url), get('http://nowhere.invalid/')], systemResolve);
      expect(answers[0]).toMatch(/403 Geode: localhost:\d+ resolves to .*, which is not public \(loopback\)/);
      expect(answers[1]).toContain('nowhere.invalid cannot be resolved');
      expect(plain.connections.size).toBe(before);
    });

    it('NET-2: does not resolve a forbidden name, so that names cannot carry data out', async () => {
      const looked: string[] = [];
      const resolve: Resolve = (host) => {
        looked.push(host);
        return testNames(host);
      };
      const urls = ['secret-data.evil.test', 'denied.test', 'allowed.test'].map((name) =>
        get(`http://${name}:${plain.port}/`),
      );
      const rules = { allow: [toHere('allowed.test', plain.port)], deny: [{ host: 'denied.test' }] };
      await attack(specOf({ mode: 'allow-list', ...rules }), urls, resolve);
      await attack(specOf({ mode: 'ask', ...rules }), urls, resolve);
      await attack(specOf({ mode: 'deny-all', allow: [], deny: [] }), urls, resolve);
      expect(looked).toEqual(['allowed.test', 'allowed.test']);
    });

    it('a denied host stays denied with other case and trailing dots', async () => {
      const spec = specOf({
        mode: 'allow-list',
        allow: [toHere('allowed.test', plain.port), toHere('secret.test', plain.port)],
        deny: [{ host: 'secret.test' }],
      });
      const { answers } = await attack(
        spec,
        ['secret.test', 'SECRET.test', 'secret.test.', 'allowed.TEST.'].map((host) =>
          get(`http://${host}:${plain.port}/dots`),
        ),
      );
      expect(answers.map((answer) => answer.slice(9, 12))).toEqual(['403', '403', '403', '200']);
    });

    it('the Host header, credentials in URLs and requests in requests cannot lead elsewhere', async () => {
      const spec = allowing(toHere('allowed.test', plain.port));
      const allowed = `http://allowed.test:${plain.port}`;
      const before = plain.seen.length;
      const { answers } = await attack(spec, [
        get(`${allowed}/host`, 'Host: other.test', 'Proxy-Authorization: Basic eDp5'),
        get(`http://allowed.test@other.test:${plain.port}/`),
        get(`http://other.test:${plain.port}\\\\@allowed.test/`),
        `POST ${allowed}/ HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 5\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\nGET http://other.test/ HTTP/1.1\\r\\n\\r\\n`,
        `POST ${allowed}/ HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 5\\r\\nContent-Length: 6\\r\\n\\r\\nhello`,
        `GET ${allowed}/ HTTP/1.1\\r\\nHost: x\\r\\nX: a\\nSmuggled: b\\r\\n\\r\\n`,
        `GET ${allowed}/ HTTP/1.1\\r\\nHost: x\\r\\nTransfer-Encoding: xchunked\\r\\n\\r\\n`,
        'GET / HTTP/1.1\\r\\nHost: allowed.test\\r\\nConnection: close\\r\\n\\r\\n',
        '\\x00\\x01\\x02\\x03',
      ]);
      expect(answers[0]).toContain(`hello from allowed.test:${plain.port}/host`);
      for (const answer of answers.slice(1)) expect(answer).toMatch(/^HTTP\/1\.1 4\d\d |^ \|/);
      const reached = plain.seen.slice(before);
      expect(reached.map(({ url }) => url)).toEqual(['/host']);
      expect(reached[0]?.headers['proxy-authorization']).toBeUndefined();
    });

    it('only WebSocket can upgrade a connection, and answers stay complete', async () => {
      const upgrades: string[] = [];
      await using chunked = await httpUpstream((request, response) => {
        upgrades.push(`${request.headers.upgrade} ${request.headers['http2-settings']}`);
        response.writeHead(404);
        response.write('no ');
        response.end('such page');
      });
      chunked.onUpgrade((request, socket) => {
        upgrades.push(`upgrade to ${request.headers.upgrade}`);
        socket.end(
          'HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nno \r\n6\r\nsocket\r\n0\r\n\r\n',
        );
      });
      const url = `http://allowed.test:${chunked.port}/`;
      const asking = (protocol: string, ...more: string[]) =>
        `GET ${url} HTTP/1.1\\r\\nUpgrade: ${protocol}\\r\\n${more.map((line) => `${line}\\r\\n`).join('')}\\r\\n`;
      const { answers } = await attack(allowing(toHere('allowed.test', chunked.port)), [
        asking(
          'h2c',
          'Connection: Upgrade, HTTP2-Settings, close',
          'HTTP2-Settings: AAMAAABkAAQAAQAAAAIAAAAA',
        ),
        asking('TLS/1.0', 'Connection: Upgrade, close'),
        asking('websocket, h2c', 'Connection: Upgrade, close'),
        asking('websocket', 'Connection: Upgrade'),
      ]);
      expect(answers).toEqual([
        expect.stringMatching(/^HTTP\/1\.1 404 Not Found \|.*such page/s),
        expect.stringMatching(/^HTTP\/1\.1 404 Not Found \|.*such page/s),
        expect.stringMatching(/^HTTP\/1\.1 404 Not Found \|.*such page/s),
        'HTTP/1.1 404 Not Found | no socket',
      ]);
      expect(upgrades).toEqual([
        'undefined undefined',
        'undefined undefined',
        'undefined undefined',
        'upgrade to websocket',
      ]);
    });

    it('checks every request of a connection separately', async () => {
      const spec = allowing(toHere('allowed.test', plain.port, { paths: ['/ok/*'], methods: ['GET'] }));
      const first = `GET http://allowed.test:${plain.port}/ok/a HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n`;
      const { opened } = await attack(spec, [`${first}${get(`http://allowed.test:${plain.port}/no`)}`]);
      await eventually(async () => opened.audit.length === 2, 'both requests in the audit');
      expect(opened.audit.map(({ verdict, path }) => `${verdict} ${path}`).sort()).toEqual([
        'allowed /ok/a',
        'denied /no',
      ]);
    });

    it('a tunnel carries only its allowed name: refuses another or hidden server name, another host and a second CONNECT', async () => {
      const before = { plain: plain.seen.length, tls: tls.seen.length };
      const opened = await hatchOf(
        sandbox,
        allowing(toHere('allowed.test', tls.port), toHere('allowed.test', plain.port)),
      );
      using _hatch = opened.hatch;
      const code = `
import os, socket, ssl, sys
host, port = os.environ['HTTP_PROXY'][7:].split(':')
def tunnel(target):
    s = socket.create_connection((host, int(port)), 40)
    s.sendall(b'CONNECT allowed.test:%d HTTP/1.1\\r\\n\\r\\n' % int(target))
    assert b' 200 ' in s.recv(4096)
    return s
context = ssl._create_unverified_context()
def greet(name):
    try:
        with context.wrap_socket(tunnel(sys.argv[1]), server_hostname=name) as t:
            t.sendall(b'GET /in HTTP/1.1\\r\\nHost: allowed.test\\r\\nConnection: close\\r\\n\\r\\n')
            return t.recv(4096)[:15]
    except OSError as error: return error.reason
def say(text):
    s = tunnel(sys.argv[2]); s.sendall(text); return s.recv(4096)[:12]
print(greet('allowed.test'), greet('other.test'), greet(None))
s = tunnel(sys.argv[1]); s.sendall(bytes.fromhex(sys.argv[3])); print(s.recv(4096))
print(say(b'GET /a HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n'))
print(say(b'\\r\\nGET /b HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n'))
print(say(b'CONNECT other.test:443 HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n'))
print(say(b'GET http://other.test/ HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n'))
print(say(b'GET /good HTTP/1.1\\r\\nHost: allowed.test:%d\\r\\n\\r\\n' % int(sys.argv[2])))
`;
      const hidden = withEncryptedHello(await greeting('allowed.test')).toString('hex');
      const result = await python(sandbox, opened, code, String(tls.port), String(plain.port), hidden);
      expect(result.stderr).toBe('');
      expect(result.stdout.split('\n')).toEqual([
        "b'HTTP/1.1 200 OK' TLSV1_UNRECOGNIZED_NAME TLSV1_UNRECOGNIZED_NAME",
        "b'\\x15\\x03\\x01\\x00\\x02\\x021'",
        "b'HTTP/1.1 403'",
        "b'HTTP/1.1 403'",
        "b'HTTP/1.1 400'",
        "b'HTTP/1.1 400'",
        "b'HTTP/1.1 200'",
        '',
      ]);
      expect(tls.seen.slice(before.tls).map(({ url }) => url)).toEqual(['/in']);
      expect(plain.seen.slice(before.plain).map(({ url }) => url)).toEqual(['/good']);
      expect(result.denied?.map(({ rule }) => rule).sort()).toEqual([
        'host name',
        'host name',
        'server name',
        'server name',
        'server name',
      ]);
    });

    it('refuses a port without a rule, and every SOCKS command except CONNECT', async () => {
      const opened = await hatchOf(sandbox, allowing(toHere('allowed.test', plain.port)));
      using _hatch = opened.hatch;
      const code = `
import os, socket
host, port = os.environ['HTTP_PROXY'][7:].split(':')
def socks(*parts):
    s = socket.create_connection((host, int(port)), 40)
    s.sendall(b'\\x05\\x01\\x00'); s.recv(2)
    for part in parts: s.sendall(part)
    return s.recv(10)[1:2]
name = b'\\x03\\x0callowed.test'
print(socks(b'\\x05\\x01\\x00' + name + b'\\x00\\x16'), socks(b'\\x05\\x02\\x00' + name + b'\\x00\\x50'), socks(b'\\x05\\x03\\x00' + name + b'\\x00\\x50'))
print(socks(b'\\x05\\x01\\x00\\x01\\x7f\\x00\\x00\\x01\\x00\\x50'), socks(b'\\x05', b'\\x01\\x00\\x04' + b'\\x00' * 15 + b'\\x01\\x00\\x50'), socks(b'\\x05\\x01\\x00\\x09\\x00'))
`;
      const result = await python(sandbox, opened, code);
      expect(result.stdout, result.stderr).toBe("b'\\x02' b'\\x07' b'\\x07'\nb'\\x02' b'\\x02' b'\\x08'\n");
    });

    it('floods of half-open connections do not block other requests', async () => {
      const opened = await hatchOf(sandbox, allowing(toHere('allowed.test', plain.port)));
      using _hatch = opened.hatch;
      const code = `
import os, socket, sys, urllib.request
host, port = os.environ['HTTP_PROXY'][7:].split(':')
open_ones = []
for n in range(150):
    s = socket.create_connection((host, int(port)), 40); s.sendall([b'', b'GET ', b'\\x05', b'\\x16'][n % 4]); open_ones.append(s)
print(urllib.request.urlopen('http://allowed.test:' + sys.argv[1] + '/flood', timeout=40).status)
`;
      const result = await python(sandbox, opened, code, String(plain.port));
      expect(result.stdout, result.stderr).toBe('200\n');
    });

    it('malformed input at any door reaches only allowed hosts and ends no other connection', async () => {
      const opened = await hatchOf(sandbox, allowing(toHere('allowed.test', plain.port)));
      using _hatch = opened.hatch;
      const before = plain.seen.length;
      const code = `
import os, random, socket, sys, urllib.request
host, port = os.environ['HTTP_PROXY'][7:].split(':')
target = 'allowed.test:' + sys.argv[1]
rng = random.Random(20260101)
seeds = [
    f'GET http://{target}/fuzz HTTP/1.1\\r\\nHost: {target}\\r\\nContent-Length: 3\\r\\n\\r\\nabc'.encode(),
    f'POST http://{target}/fuzz HTTP/1.1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n3\\r\\nabc\\r\\n0\\r\\n\\r\\n'.encode(),
    f'CONNECT {target} HTTP/1.1\\r\\n\\r\\nGET /fuzz HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n'.encode(),
    b'\\x05\\x01\\x00\\x05\\x01\\x00\\x03\\x0callowed.test' + int(sys.argv[1]).to_bytes(2, 'big') + b'\\x16\\x03\\x01\\x02\\x00\\x01',
]
for n in range(400):
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.randrange(1, 8)):
        at = rng.randrange(len(data) or 1)
        kind = rng.randrange(4)
        if kind == 0 and data: data[at % len(data)] = rng.randrange(256)
        elif kind == 1: del data[at:at + rng.randrange(1, 9)]
        elif kind == 2: data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 9)))
        else: data[at:at] = rng.choice([b'\\r\\n', b'\\n', b'\\0', b'other.test', b':', b' ', b'\\xff' * 300])
    s = socket.create_connection((host, int(port)), 40)
    try:
        s.sendall(data); s.shutdown(socket.SHUT_WR)
        while s.recv(65536): pass
    except OSError: pass
    s.close()
print(urllib.request.urlopen('http://' + target + '/after', timeout=40).status)
`;
      const result = await sandbox.exec({
        argv: ['python3', '-c', code, String(plain.port)],
        env: opened.hatch.env,
        timeoutMs: 100_000,
      });
      expect(result.stdout, result.stderr).toBe('200\n');
      const reached = plain.seen.slice(before);
      expect(reached.at(-1)?.url).toBe('/after');
      expect(new Set(reached.map(({ headers }) => headers.host))).toEqual(
        new Set([`allowed.test:${plain.port}`]),
      );
      const allowed = opened.audit.filter(({ verdict }) => verdict === 'allowed');
      expect(new Set(allowed.map(({ host, port }) => `${host}:${port}`))).toEqual(
        new Set([`allowed.test:${plain.port}`]),
      );
    }, 120_000);

    it('a guest that names a wrong door gets only the policy of that door, and no closed door', async () => {
      const { hatch } = sandbox;
      if (hatch === undefined) throw new Error('bubblewrap has a hatch');
      let said = '';
      const lying: Pick<Sandbox, 'runtime' | 'hatch'> = {
        runtime: sandbox.runtime,
        hatch: {
          open: (doors, options) => hatch.open(doors, options),
          close: (door, options) => hatch.close(door, options),
          trust: (authority, roots, options) => hatch.trust(authority, roots, options),
          note: (denial) => hatch.note(denial),
          denials: (since) => hatch.denials(since),
          serve: (onConnection) => hatch.serve((_, stream) => onConnection(said, stream)),
        },
      };
      const spec = allowing(toHere('allowed.test', plain.port));
      const bridges = [
        { port: 15_001, to: { host: 'allowed.test', port: plain.port } },
        { port: 15_002, to: { host: 'other.test', port: plain.port } },
      ];
      const opened = await hatchOf(sandbox, { ...spec, policy: { ...spec.policy, bridges } }, testNames, {
        sandbox: lying,
      });
      using _hatch = opened.hatch;
      const before = plain.seen.length;
      const tried = async (door: string) => {
        said = door;
        const text = `GET /lie HTTP/1.1\\r\\nHost: allowed.test:${plain.port}\\r\\nConnection: close\\r\\n\\r\\n`;
        return (await python(sandbox, opened, sendRaw, text)).stdout.split(' |')[0];
      };
      for (const door of ['bridge-15002', 'bridge-22', 'bind-anthropic', '', '../proxy', 'x'.repeat(60)])
        expect(await tried(door), door).toBe('');
      expect(plain.seen.length).toBe(before);
      expect(await tried('bridge-15001')).toBe('HTTP/1.1 200 OK');
      expect(await tried('proxy')).toMatch(/^HTTP\/1\.1 4/);
    });

    it('NET-2: a redirect is checked as a new request', async () => {
      await using redirecting = await httpUpstream((_, response) =>
        response.writeHead(302, { location: `http://other.test:${plain.port}/stolen` }).end(),
      );
      const opened = await hatchOf(sandbox, allowing(toHere('allowed.test', redirecting.port)));
      using _hatch = opened.hatch;
      const result = await python(sandbox, opened, getUrl, `http://allowed.test:${redirecting.port}/`);
      expect(result.stdout).toContain(`403 Geode: other.test:${plain.port} is not in the policy`);
      expect(plain.seen.some(({ url }) => url === '/stolen')).toBe(false);
    });

    it('the audit has each request without its query, and the reason of each failure', async () => {
      const { answers, opened } = await attack(
        allowing(toHere('allowed.test', plain.port), { host: 'unknown.example' }),
        [get(`http://allowed.test:${plain.port}/path?token=hush`), get('http://unknown.example/')],
        testNames,
      );
      expect(answers[1]).toMatch(/^HTTP\/1\.1 502 Geode: unknown\.example cannot be resolved/);
      await eventually(async () => opened.audit.length === 2, 'both in the audit');
      expect(JSON.stringify(opened.audit)).not.toContain('hush');
      expect(opened.audit.find(({ verdict }) => verdict === 'allowed')).toMatchObject({
        user: 'alice',
        via: 'http',
        host: 'allowed.test',
        method: 'GET',
        path: '/path',
        address: '127.0.0.1',
        status: 200,
      });
    });
  },
);
