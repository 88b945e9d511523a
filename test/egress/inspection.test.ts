import { createHash, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { Authority } from '../../src/egress/inspection/authority.ts';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import type { EgressSpec } from '../../src/seams/egress.ts';
import type { Sandbox } from '../../src/seams/sandbox.ts';
import { eventually, type Harness, openHarness } from '../contracts/harness.ts';
import { egressIn, sandboxWorld } from '../sandboxes/world.ts';
import { greeting } from './client-hellos.ts';
import {
  allowing,
  hatchOf,
  type Opened,
  python,
  specOf,
  testNames,
  toHere,
  trusting,
} from './hatch-fixture.ts';
import { certificateFile, tlsUpstream, type Upstream } from './upstreams.ts';

const { bubblewrap } = inject('engines');

describe('the authority of a sandbox', () => {
  it('signs one certificate per host, is restored from its stored form, and has a key of its own', () => {
    const authority = Authority.create();
    const own = new X509Certificate(authority.certificate);
    expect(own.ca).toBe(true);
    expect(own.verify(own.publicKey)).toBe(true);
    expect(Authority.from(authority.stored())?.certificate).toBe(authority.certificate);
    expect(Authority.from('nothing of the kind')).toBeUndefined();
    expect(Authority.create().certificate).not.toBe(authority.certificate);
    expect(authority.contextFor('a.test')).toBe(authority.contextFor('a.test'));
    expect(authority.contextFor('a.test')).not.toBe(authority.contextFor('b.test'));
  });
});

describe.skipIf(!bubblewrap.available)(
  `inspection in a sandbox that was ready${bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`}`,
  () => {
    it('NET-1: a sandbox from the pool gets its policy and authority when claimed, and trusts no other authority', async () => {
      await using tls = await tlsUpstream();
      await using world = await sandboxWorld('bubblewrap');
      const sandboxes = await world.host({
        pool: { floor: 1, ceiling: 1 },
        egress: egressIn(world.options.stateDir, {
          resolve: testNames,
          upstreamCa: readFileSync(certificateFile, 'utf8'),
        }),
      });
      const mine = sandboxes.of('alice');
      const first = await mine.getOrCreate('first');
      const spec = allowing(toHere('allowed.test', tls.port, { inspect: true, methods: ['GET'] }));
      const claimed: string[] = [first.id];
      const authorities = new Set<string | undefined>();
      for (const chat of ['second', 'third']) {
        const ready = await eventually(async () => {
          const found = await world.runtime.list();
          return found.find(({ id }) => !claimed.includes(id));
        }, 'a sandbox that is ready');
        const sandbox = await mine.getOrCreate(chat, { egress: spec });
        expect(sandbox.id).toBe(ready.id);
        claimed.push(sandbox.id);
        const code = `
import os, sys, urllib.request, urllib.error
for method in ['GET', 'POST']:
    asked = urllib.request.Request('https://allowed.test:' + sys.argv[1] + '/pooled', method=method)
    try: print(urllib.request.urlopen(asked, timeout=40).status)
    except urllib.error.HTTPError as error: print(error.code)
print(open(os.environ['SSL_CERT_FILE']).read().strip()[-120:].replace(chr(10), ''))
`;
        const result = await sandbox.exec({
          argv: ['python3', '-c', code, String(tls.port)],
          timeoutMs: 60_000,
        });
        expect(result.stderr).toBe('');
        const [got, posted, authority] = result.stdout.trim().split('\n');
        expect([got, posted]).toEqual(['200', '403']);
        authorities.add(authority);
      }
      expect(authorities.size).toBe(2);
      const without = await first.exec({ argv: ['sh', '-c', 'echo "$SSL_CERT_FILE"'] });
      expect(without.stdout).toBe('\n');
    }, 180_000);
  },
);

describe.skipIf(!bubblewrap.available)(
  `inspection${bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`}`,
  () => {
    let harness: Harness;
    let sandbox: Sandbox;
    let tls: Upstream;
    beforeAll(async () => {
      [harness, tls] = await Promise.all([openHarness(bubblewrapRuntime), tlsUpstream()]);
      sandbox = await harness.open();
    });
    afterAll(async () => {
      await harness?.close();
      await tls?.[Symbol.asyncDispose]();
    });

    const within = async <T>(spec: EgressSpec, work: (opened: Opened) => Promise<T>, extra = trusting) => {
      const opened = await hatchOf(sandbox, spec, testNames, extra);
      using _hatch = opened.hatch;
      return await work(opened);
    };
    const inspected = (more = {}) => allowing(toHere('allowed.test', tls.port, { inspect: true, ...more }));

    /** TLS by hand: the name of the server, the header Host, the protocols, and whether the certificate is checked. */
    const speak = `
import os, socket, ssl, sys
target, name, host, alpn, check = sys.argv[1:]
proxy, port = os.environ['HTTP_PROXY'][7:].split(':')
s = socket.create_connection((proxy, int(port)), 40)
s.sendall(('CONNECT %s HTTP/1.1\\r\\n\\r\\n' % target).encode())
print(s.recv(4096).split(b'\\r\\n')[0].decode())
context = ssl.create_default_context() if check == 'check' else ssl.create_default_context(cafile=check)
if alpn: context.set_alpn_protocols(alpn.split(','))
try:
    t = context.wrap_socket(s, server_hostname=name)
    print(t.selected_alpn_protocol(), t.getpeercert()['subjectAltName'])
    t.sendall(('GET /x HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n' % host).encode())
    got = b''
    while True:
        chunk = t.recv(65536)
        if not chunk: break
        got += chunk
    print(got.split(b'\\r\\n')[0].decode())
except OSError as error: print(type(error).__name__, getattr(error, 'reason', error))
`;

    it('NET-2: shows the real host name and protocol in TLS, and refuses another Host inside', async () => {
      const target = `allowed.test:${tls.port}`;
      await within(inspected(), async (opened) => {
        const both = await python(
          sandbox,
          opened,
          speak,
          target,
          'allowed.test',
          target,
          'h2,http/1.1',
          'check',
        );
        expect(both.stdout.split('\n').slice(0, 3), both.stderr).toEqual([
          'HTTP/1.1 200 Connection established',
          "http/1.1 (('DNS', 'allowed.test'),)",
          'HTTP/1.1 200 OK',
        ]);
        const front = await python(sandbox, opened, speak, target, 'allowed.test', 'other.test', '', 'check');
        expect(front.stdout).toContain('HTTP/1.1 403 Geode');
        expect(front.denied?.[0]).toMatchObject({ rule: 'host name' });
        const forged = await python(sandbox, opened, speak, target, 'other.test', target, '', 'check');
        expect(forged.stdout).toContain('UNRECOGNIZED_NAME');
        const grpc = await python(sandbox, opened, speak, target, 'allowed.test', target, 'h2', 'check');
        expect(grpc.stdout).toContain('SSLError');
        expect(grpc.denied?.[0]?.reason).toContain('supports HTTP/1.1 only, and this client offers h2');
      });
    });

    it('NET-3: reports why a client with a pinned certificate fails, and how to exclude the host', async () => {
      const target = `allowed.test:${tls.port}`;
      await sandbox.files.write('pinned.crt', readFileSync(certificateFile));
      await within(inspected(), async (opened) => {
        const result = await python(sandbox, opened, speak, target, 'allowed.test', target, '', 'pinned.crt');
        expect(result.stdout).toContain('CERTIFICATE_VERIFY_FAILED');
        expect(result.denied?.[0]).toMatchObject({
          rule: 'inspection',
          ask: `--allow ${target}`,
          reason: expect.stringContaining('the client rejected the certificate of this sandbox'),
        });
      });
    });

    it('NET-2: verifies the certificate of the upstream, since the client cannot', async () => {
      await within(
        inspected(),
        async (opened) => {
          const target = `allowed.test:${tls.port}`;
          const seen = tls.seen.length;
          const result = await python(sandbox, opened, speak, target, 'allowed.test', target, '', 'check');
          expect(result.stdout).toContain('HTTP/1.1 502 Geode: ');
          expect(result.stdout).toContain(
            'has no certificate that this host trusts: self-signed certificate',
          );
          expect(tls.seen.length).toBe(seen);
          const failed = { verdict: 'failed', via: 'inspected', path: '/x' };
          await eventually(async () => opened.audit.length > 0, 'the request in the audit');
          expect(opened.audit.at(-1)).toMatchObject(failed);
        },
        {},
      );
    });

    it('passes WebSockets, and a slow stream chunk by chunk', async () => {
      let finish = () => {};
      await using chunks = await tlsUpstream((request, response) => {
        if (request.url === '/continue') {
          finish();
          return void response.end();
        }
        response.write('first\n');
        finish = () => void response.end('second\n');
      });
      await using sockets = await tlsUpstream();
      sockets.onUpgrade((request: IncomingMessage, socket) => {
        const accept = createHash('sha1')
          .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
          .digest('base64');
        socket.write(
          `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
        );
        socket.on('error', () => {}).pipe(socket);
      });
      const spec = allowing(
        toHere('allowed.test', sockets.port, { inspect: true, paths: ['/live'] }),
        toHere('allowed.test', chunks.port, { inspect: true }),
      );
      const code = `
import os, socket, ssl, sys
proxy, port = os.environ['HTTP_PROXY'][7:].split(':')
def tunnel(to):
    s = socket.create_connection((proxy, int(port)), 40)
    s.sendall(('CONNECT allowed.test:%s HTTP/1.1\\r\\n\\r\\n' % to).encode()); s.recv(4096)
    return ssl.create_default_context().wrap_socket(s, server_hostname='allowed.test')
t = tunnel(sys.argv[1])
t.sendall(('GET /live HTTP/1.1\\r\\nHost: allowed.test:%s\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\n\\r\\n' % sys.argv[1]).encode())
head = t.recv(4096)
print(head.split(b'\\r\\n')[0].decode(), b's3pPLMBiTxaQ9kYGzzhZRbK+xOo=' in head)
t.sendall(b'\\x81\\x04ping'); print(t.recv(100))
def ask(path):
    c = tunnel(sys.argv[2])
    c.sendall(('GET %s HTTP/1.1\\r\\nHost: allowed.test:%s\\r\\n\\r\\n' % (path, sys.argv[2])).encode())
    return c
c, got = ask('/'), b''
while b'first' not in got: got += c.recv(4096)
print(b'second' in got)
# The server sends the rest only now.
other = ask('/continue'); other.recv(4096)
while b'second' not in got: got += c.recv(4096)
print('whole')
`;
      await within(spec, async (opened) => {
        const result = await python(sandbox, opened, code, String(sockets.port), String(chunks.port));
        expect(result.stderr).toBe('');
        expect(result.stdout).toBe(
          "HTTP/1.1 101 Switching Protocols True\nb'\\x81\\x04ping'\nFalse\nwhole\n",
        );
      });
    });

    it('NET-1: denies single methods of an allowed host, and closes open connections when their rule is removed', async () => {
      const deny = [{ host: 'allowed.test', inspect: true, methods: ['POST'] }];
      const allow = [toHere('allowed.test', tls.port)];
      const code = `
import sys, urllib.request, urllib.error
for method in ['GET', 'POST']:
    try: print(urllib.request.urlopen(urllib.request.Request(sys.argv[1], method=method), timeout=40).status)
    except urllib.error.HTTPError as error: print(error.code, error.reason)
`;
      await within(specOf({ mode: 'allow-list', allow, deny }), async (opened) => {
        const url = `https://allowed.test:${tls.port}/`;
        const result = await python(sandbox, opened, code, url);
        expect(result.stdout, result.stderr).toBe(
          `200\n403 Geode: allowed.test:${tls.port} is denied by the rule inspect:POST https://allowed.test/\n`,
        );
        await opened.hatch.change(allowing(toHere('allowed.test', tls.port)));
        expect(opened.hatch.env.SSL_CERT_FILE).toBeUndefined();
      });
    });

    it('NET-4: adds a credential to https calls of a client without one', async () => {
      const secret = 'tickets-secret-0123456789';
      await using echo = await tlsUpstream((request, response) => {
        response.end(`${request.method} ${request.url} ${request.headers['x-ticket-key'] ?? 'none'}`);
      });
      const upstream = `https://allowed.test:${echo.port}/v2`;
      const binding = {
        name: 'tickets',
        upstream,
        add: 'header:X-Ticket-Key',
        methods: ['GET'],
        inspect: true,
      };
      const services = { secret: () => secret, refusal: () => undefined, onUsage: () => {} };
      const spec = { ...specOf({ mode: 'deny-all', allow: [], deny: [] }), bindings: [binding] };
      const code = `
import sys, urllib.request, urllib.error
for method, path in [('GET', '/v2/a'), ('POST', '/v2/a'), ('GET', '/v1')]:
    asked = urllib.request.Request(sys.argv[1] + path, method=method, headers={'X-Ticket-Key': 'mine'})
    try: print(urllib.request.urlopen(asked, timeout=40).read().decode())
    except urllib.error.HTTPError as error: print(error.code, error.read().decode())
`;
      await within(
        spec,
        async (opened) => {
          const result = await python(sandbox, opened, code, `https://allowed.test:${echo.port}`);
          const [first, second, third] = result.stdout.split('\n');
          expect(first, result.stderr).toBe(`GET /v2/a ${'*'.repeat(secret.length)}`);
          expect(second).toContain('403');
          expect(second).toContain('the binding tickets does not allow POST of this path');
          expect(third).toContain('404');
          expect(echo.seen.map(({ headers }) => headers['x-ticket-key'])).toEqual([secret]);
          expect(JSON.stringify(opened.hatch.env)).not.toContain(secret);
        },
        { ...trusting, bindings: services },
      );
    });

    it('refuses an unreadable TLS greeting, also for inspected hosts', async () => {
      const code = `
import os, socket, sys
proxy, port = os.environ['HTTP_PROXY'][7:].split(':')
for first in [bytes.fromhex(sys.argv[2])[:-3] + b'\\x00\\x00\\x00', b'\\x00\\x01\\x02 other']:
    s = socket.create_connection((proxy, int(port)), 40)
    s.sendall(('CONNECT allowed.test:%s HTTP/1.1\\r\\n\\r\\n' % sys.argv[1]).encode()); s.recv(4096)
    s.sendall(first)
    got = b''
    try:
        while True:
            chunk = s.recv(4096)
            if not chunk: break
            got += chunk
    except ConnectionError: pass
    print(got[:1] in (b'', b'\\x15'))
`;
      const hello = await greeting('elsewhere.test');
      await within(inspected(), async (opened) => {
        const result = await python(sandbox, opened, code, String(tls.port), hello.toString('hex'));
        expect(result.stdout, result.stderr).toBe('True\nTrue\n');
        expect(result.denied).toHaveLength(2);
      });
    });
  },
);
