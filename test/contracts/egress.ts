import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isGeodeError } from '../../src/base/errors.ts';
import { allowing, getUrl, hatchOf, python, testNames, toHere, trusting } from '../egress/hatch-fixture.ts';
import {
  echoUpstream,
  httpUpstream,
  summingUpstream,
  tlsUpstream,
  type Upstream,
} from '../egress/upstreams.ts';
import type { Harness } from './harness.ts';
import { eventually } from './harness.ts';

export interface EgressSuite {
  readonly name: string;
  readonly unavailable?: string | undefined;
  readonly open: () => Promise<Harness>;
  /** For walls that have to be built first. */
  readonly openDeadlineMs?: number;
}

/** Tests of the hatch with every kind of walls and link. */
export function egressContract({ name, unavailable, open, openDeadlineMs }: EgressSuite): void {
  const title =
    unavailable === undefined ? `the hatch of ${name}` : `the hatch of ${name} (skipped: ${unavailable})`;
  describe.skipIf(unavailable !== undefined)(title, () => {
    let harness: Harness;
    let plain: Upstream;
    let tls: Upstream;
    let echo: Upstream;
    beforeAll(async () => {
      [harness, plain, tls, echo] = await Promise.all([
        open(),
        httpUpstream(),
        tlsUpstream(),
        echoUpstream(),
      ]);
    }, openDeadlineMs);
    afterAll(async () => {
      await harness?.close();
      await Promise.all([plain, tls, echo].map((server) => server?.[Symbol.asyncDispose]()));
    });

    it('NET-1: allows targets of a rule, and refuses the rest with the reason and the next command', async () => {
      await using sandbox = await harness.open();
      const opened = await hatchOf(
        sandbox,
        allowing(toHere('allowed.test', plain.port), toHere('allowed.test', tls.port)),
      );
      using _hatch = opened.hatch;
      const result = await python(
        sandbox,
        opened,
        getUrl,
        `http://allowed.test:${plain.port}/a`,
        `https://allowed.test:${tls.port}/b`,
        `http://other.test:${plain.port}/`,
        `https://other.test:${tls.port}/`,
      );
      const [first, second, third, ...rest] = result.stdout.split('\n');
      expect(first).toBe(`200 hello from allowed.test:${plain.port}/a`);
      expect(second).toBe(`200 hello from allowed.test:${tls.port}/b`);
      expect(third).toBe(
        `403 Geode: other.test:${plain.port} is not in the policy Geode refused this connection: other.test:${plain.port} is not in the policy.`,
      );
      expect(rest.join('\n')).toContain(`To ask for it: --allow other.test:${plain.port}`);
      expect(rest.join('\n')).toContain(
        `failed <urlopen error Tunnel connection failed: 403 Geode: other.test:${tls.port} is not in the policy>`,
      );
      expect(result.denied?.map(({ host, port, rule }) => ({ host, port, rule }))).toEqual([
        { host: 'other.test', port: plain.port, rule: 'allow-list' },
        { host: 'other.test', port: tls.port, rule: 'allow-list' },
      ]);
      await eventually(async () => opened.audit.length >= 4, 'the ends of all connections');
      expect(opened.audit.map(({ verdict, via }) => `${verdict} ${via}`).sort()).toEqual([
        'allowed connect',
        'allowed http',
        'denied connect',
        'denied http',
      ]);
    });

    it('takes SOCKS5 with names on the same port, and bridges a port to one target', async () => {
      await using sandbox = await harness.open();
      const spec = allowing(toHere('allowed.test', echo.port));
      const bridges = [{ port: 15_432, to: { host: 'allowed.test', port: echo.port } }];
      const opened = await hatchOf(sandbox, { ...spec, policy: { ...spec.policy, bridges } });
      using _hatch = opened.hatch;
      const code = `
import os, socket, sys
host, port = os.environ['HTTP_PROXY'][7:].split(':')
def socks(name):
    s = socket.create_connection((host, int(port)), 40)
    s.sendall(b'\\x05\\x01\\x00'); assert s.recv(2) == b'\\x05\\x00'
    s.sendall(b'\\x05\\x01\\x00\\x03' + bytes([len(name)]) + name + int(sys.argv[1]).to_bytes(2, 'big'))
    return s, s.recv(10)[1]
s, code = socks(b'allowed.test')
s.sendall(b'\\x01ping'); print(code, s.recv(5))
print(socks(b'other.test')[1])
b = socket.create_connection(('127.0.0.1', 15432), 40)
b.sendall(b'\\x02pong'); print(b.recv(5))
`;
      const result = await python(sandbox, opened, code, String(echo.port));
      expect(result.stderr).toBe('');
      expect(result.stdout).toBe("0 b'\\x01ping'\n2\nb'\\x02pong'\n");
    });

    it('passes the end of input of a program to the server, and the program still receives the answer', async () => {
      await using summing = await summingUpstream();
      await using sandbox = await harness.open();
      const spec = allowing(toHere('allowed.test', summing.port), toHere('allowed.test', plain.port));
      const bridges = [{ port: 15_433, to: { host: 'allowed.test', port: summing.port } }];
      const opened = await hatchOf(sandbox, { ...spec, policy: { ...spec.policy, bridges } });
      using _hatch = opened.hatch;
      const code = `
import os, socket, sys
host, port = os.environ['HTTP_PROXY'][7:].split(':')
def last_words(connection, words):
    connection.sendall(words)
    connection.shutdown(socket.SHUT_WR)
    answer = b''
    while more := connection.recv(4096): answer += more
    return answer.decode()
tunnel = socket.create_connection((host, int(port)), 40)
tunnel.sendall(b'CONNECT allowed.test:%d HTTP/1.1\\r\\n\\r\\n' % int(sys.argv[1]))
tunnel.recv(4096)
print(last_words(tunnel, b'\\0' * 3000000))
print(last_words(socket.create_connection(('127.0.0.1', 15433), 40), b'\\0' * 5))
asked = b'GET http://allowed.test:%d/last HTTP/1.1\\r\\n\\r\\n' % int(sys.argv[2])
print(last_words(socket.create_connection((host, int(port)), 40), asked).split('\\r\\n\\r\\n')[1])
socket.create_connection((host, int(port)), 40).close()
`;
      const result = await python(sandbox, opened, code, String(summing.port), String(plain.port));
      expect(result.stderr).toBe('');
      expect(result.stdout).toBe(`3000000\n5\nhello from allowed.test:${plain.port}/last\n`);
      await eventually(async () => opened.audit.length === 3, 'the ends of all connections');
      expect(opened.audit.map(({ via, bytesOut }) => [via, bytesOut]).sort()).toEqual([
        ['bridge', 5],
        ['connect', 3_000_000],
        ['http', expect.any(Number)],
      ]);
    });

    it('NET-1: a slow reader delays no other connection, and a policy change closes open connections', async () => {
      await using sandbox = await harness.open();
      const opened = await hatchOf(
        sandbox,
        allowing(toHere('allowed.test', echo.port), toHere('allowed.test', plain.port)),
      );
      using _hatch = opened.hatch;
      const code = `
import os, socket, sys, urllib.request
host, port = os.environ['HTTP_PROXY'][7:].split(':')
s = socket.create_connection((host, int(port)), 40)
s.sendall(b'CONNECT allowed.test:%d HTTP/1.1\\r\\n\\r\\n' % int(sys.argv[1]))
s.recv(4096)
s.setblocking(False)
sent = 0
try:
    while True: sent += s.send(b'\\x00' * 65536)
except BlockingIOError: pass
print(urllib.request.urlopen('http://allowed.test:' + sys.argv[2] + '/beside', timeout=40).read().decode(), flush=True)
s.settimeout(40)
try:
    while s.recv(65536): pass
    print('closed')
except ConnectionError: print('closed')
`;
      const running = python(sandbox, opened, code, String(echo.port), String(plain.port));
      await eventually(
        async () => plain.seen.some(({ url }) => url === '/beside'),
        'the request beside the stuck tunnel',
      );
      await opened.hatch.change(allowing(toHere('allowed.test', plain.port)));
      const result = await running;
      expect(result.stderr).toBe('');
      expect(result.stdout).toBe(`hello from allowed.test:${plain.port}/beside\nclosed\n`);
    });

    it('NET-1: inspects the TLS of a host with such a rule, so that methods and paths are checked, for an unmodified client', async () => {
      await using sandbox = await harness.open();
      const rule = toHere('allowed.test', tls.port, { inspect: true, methods: ['GET'], paths: ['/v1/*'] });
      const opened = await hatchOf(sandbox, allowing(rule), testNames, trusting);
      using _hatch = opened.hatch;
      const code = `
import os, sys, urllib.request, urllib.error
for method, path in [('GET', '/v1/a?q=1'), ('POST', '/v1/a'), ('GET', '/v2')]:
    asked = urllib.request.Request('https://allowed.test:' + sys.argv[1] + path, method=method)
    try: print(urllib.request.urlopen(asked, timeout=40).read().decode())
    except urllib.error.HTTPError as error: print(error.code, error.read().decode().split('\\n')[0])
trusted = os.environ['SSL_CERT_FILE']
print(oct(os.stat(trusted).st_mode & 0o777), 'PRIVATE KEY' in open(trusted).read())
`;
      const result = await python(sandbox, opened, code, String(tls.port));
      expect(result.stderr).toBe('');
      const refused = (what: string) =>
        `403 Geode refused this connection: allowed.test:${tls.port}: the rule inspect:GET https://allowed.test:${tls.port}/v1/* allows not ${what} of this path.`;
      expect(result.stdout.trim().split('\n')).toEqual([
        `hello from allowed.test:${tls.port}/v1/a?q=1`,
        refused('POST'),
        refused('GET'),
        '0o444 False',
      ]);
      await eventually(async () => opened.audit.length >= 3, 'the ends of all requests');
      expect(
        opened.audit.map(({ via, verdict, method, path }) => [via, verdict, method, path]).sort(),
      ).toEqual([
        ['inspected', 'allowed', 'GET', '/v1/a'],
        ['inspected', 'denied', 'GET', '/v2'],
        ['inspected', 'denied', 'POST', '/v1/a'],
      ]);
      expect(result.denied?.map(({ ask }) => ask)).toEqual([
        `--allow 'inspect:POST https://allowed.test:${tls.port}/v1/a'`,
        `--allow 'inspect:GET https://allowed.test:${tls.port}/v2'`,
      ]);
    });

    it('NET-2: stays enforced when a program kills every process it can, and no host socket is reachable inside', async () => {
      await using sandbox = await harness.open();
      const opened = await hatchOf(sandbox, allowing(toHere('allowed.test', plain.port)));
      using _hatch = opened.hatch;
      const code = `
import os, signal, socket, sys, urllib.request, urllib.error
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for pid, number in [(1, 15), (1, 9), (-1, 15), (-1, 9)]:
    try: os.kill(pid, number)
    except OSError: pass
for path in ['/var/run/docker.sock', '/run/docker.sock', '/run/podman/podman.sock', '/run/containerd/containerd.sock', '/run/dbus/system_bus_socket']:
    try: socket.socket(socket.AF_UNIX).connect(path); print('reached', path)
    except OSError: pass
for name in ['allowed.test', 'other.test']:
    try: print(urllib.request.urlopen('http://' + name + ':' + sys.argv[1] + '/killed', timeout=40).status)
    except urllib.error.HTTPError as error: print(error.code)
try: socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2); print('reached the host')
except OSError: print('no way')
`;
      const before = plain.seen.length;
      // A guest that is asked to stop ends its sandbox, at any point of the program; afterwards nothing can connect out.
      const outcome = await python(sandbox, opened, code, String(plain.port)).then(
        ({ stdout, stderr }) => stdout + stderr,
        (error: unknown) => (isGeodeError(error, 'sandbox_gone') ? '' : String(error)),
      );
      expect(['200\n403\nno way\n', '200\n403\n', '200\n', '']).toContain(outcome);
      const hosts = plain.seen.slice(before).map(({ headers }) => headers.host);
      expect(hosts.filter((host) => host !== `allowed.test:${plain.port}`)).toEqual([]);
    });

    it('NET-2: is the only way out: the sandbox has no interface and no resolver, and no datagram leaves', async () => {
      await using sandbox = await harness.open();
      const opened = await hatchOf(sandbox, allowing(toHere('allowed.test', plain.port)));
      using _hatch = opened.hatch;
      const code = `
import os, socket
print(sorted(os.listdir('/sys/class/net')) if os.path.isdir('/sys/class/net') else ['lo'])
def tried(work):
    try: work(); return 'got out'
    except OSError: return 'no way'
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print(tried(lambda: socket.getaddrinfo('allowed.test', 80)))
print(tried(lambda: udp.sendto(b'x', ('8.8.8.8', 53))))
print(tried(lambda: socket.create_connection(('169.254.169.254', 80), 2)))
print(tried(lambda: socket.create_connection(('2001:4860:4860::8888', 53), 2)))
`;
      const { stdout } = await python(sandbox, opened, code);
      const [interfaces = '', ...ways] = stdout.trim().split('\n');
      expect(
        interfaces.replace(/'(tunl0|sit0|ip6tnl0|ip_vti0|ip6_vti0|gre0|gretap0|erspan0|ip6gre0)', ?/g, ''),
      ).toBe("['lo']");
      expect(ways).toEqual(['no way', 'no way', 'no way', 'no way']);
    });
  });
}
