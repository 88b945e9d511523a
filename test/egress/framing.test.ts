import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { framings } from './framings.ts';
import { toHere } from './hatch-fixture.ts';
import { httpUpstream, tlsUpstream, type Upstream } from './upstreams.ts';
import {
  exchange,
  openedTunnelTo,
  openWire,
  type RawUpstream,
  rawUpstream,
  readStrictly,
  realKey,
  tunnelTo,
  type Wire,
} from './wire-fixture.ts';

const methods = ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS'];
const paths = ['/ok/*'];

/** The ways from a program in a sandbox to a server. */
const ways = ['binding', 'proxy', 'tunnel', 'opened tunnel'] as const;
type Way = (typeof ways)[number];

/** The hatch that a way needs. A binding keeps connections, so each of its texts has a hatch of its own. */
function wireFor(way: Way, port: number): Promise<Wire> {
  const inspect = way === 'opened tunnel';
  const rule = toHere('allowed.test', port, { methods, paths, ...(inspect && { inspect }) });
  if (way !== 'binding') return openWire({ mode: 'allow-list', allow: [rule], deny: [] });
  const binding = { name: 'own', upstream: `http://127.0.0.1:${port}`, add: 'bearer', methods, paths };
  return openWire({ mode: 'deny-all', allow: [], deny: [] }, [binding]);
}

/** Returns the answer to one text. */
async function send(way: Way, port: number, text: string, wire: Wire): Promise<string> {
  const host = `allowed.test:${port}`;
  const target = way === 'proxy' ? `http://${host}/ok/a` : '/ok/a';
  const bytes = text.replaceAll('TARGET', target).replaceAll('HOST', host);
  if (way === 'opened tunnel') return exchange(await openedTunnelTo(wire, 'allowed.test', port), bytes);
  if (way === 'tunnel') return exchange(await tunnelTo(wire, 'allowed.test', port), bytes);
  return exchange(await wire.connect(way === 'binding' ? 'bind-own' : 'proxy'), bytes);
}

/** For any input, a server gets only allowed requests, each with one end that all servers see. */
function judge(way: Way, port: number, connections: readonly string[]): void {
  for (const bytes of connections) {
    const requests = readStrictly(bytes);
    for (const [index, { method, target, fields }] of requests.entries()) {
      expect(methods, bytes).toContain(method);
      expect(target, bytes).toBe('/ok/a');
      const of = (wanted: string) => fields.flatMap(([name, value]) => (name === wanted ? [value] : []));
      expect(of('host'), bytes).toEqual([`${way === 'binding' ? '127.0.0.1' : 'allowed.test'}:${port}`]);
      if (way === 'binding') expect(of('authorization'), bytes).toEqual([`Bearer ${realKey}`]);
      const hasBody =
        of('content-length').some((length) => length !== '0') || of('transfer-encoding').length > 0;
      // A server that takes the body for a request must not get another credential behind it.
      if (hasBody || way !== 'binding') expect(index, bytes).toBe(requests.length - 1);
      expect(of('connection'), bytes).toEqual([hasBody || way !== 'binding' ? 'close' : 'keep-alive']);
    }
  }
}

describe('the framing of proxied messages', () => {
  let raw: RawUpstream;
  let rawTls: RawUpstream;
  let plain: Upstream;
  let tls: Upstream;
  const wires = new Map<string, Promise<Wire>>();
  beforeAll(async () => {
    [raw, rawTls, plain, tls] = await Promise.all([
      rawUpstream(),
      rawUpstream({ tls: true }),
      httpUpstream(),
      tlsUpstream(),
    ]);
  });
  afterAll(async () => {
    for (const wire of wires.values()) (await wire)[Symbol.dispose]();
    await Promise.all([raw, rawTls, plain, tls].map((server) => server?.[Symbol.asyncDispose]()));
  });

  const sendBy = async (way: Way, port: number, text: string): Promise<void> => {
    if (way === 'binding') {
      using wire = await wireFor(way, port);
      return void (await send(way, port, text, wire));
    }
    const name = `${way} ${port}`;
    const wire = wires.get(name) ?? wireFor(way, port);
    wires.set(name, wire);
    await send(way, port, text, await wire);
  };

  it.for(ways)(
    'NET-2: the upstream reads each malformed message as one request or none (by %s)',
    { timeout: 120_000 },
    async (way) => {
      const [bytes, node] = way === 'opened tunnel' ? [rawTls, tls] : [raw, plain];
      expect(Object.keys(framings).length).toBeGreaterThan(200);
      let reached = 0;
      for (const [name, text] of Object.entries(framings)) {
        await sendBy(way, bytes.port, text);
        const connections = await bytes.taken();
        reached += connections.length;
        try {
          judge(way, bytes.port, connections);
        } catch (error) {
          throw new Error(name, { cause: error });
        }
        const before = node.seen.length;
        await sendBy(way, node.port, text);
        for (const { url, headers } of node.seen.slice(before)) {
          expect(url, name).toBe('/ok/a');
          expect(headers['x-smuggled'], name).toBeUndefined();
        }
      }
      // Requests that are only unusual pass.
      expect(reached).toBeGreaterThan(20);
    },
  );

  it('NET-4: a binding refuses a partial or encoded answer, which may contain a part of the credential', async () => {
    const partial =
      'HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-1/9\r\nContent-Length: 2\r\n\r\nsk';
    const packed = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nsk\r\n0\r\n\r\n';
    const encoded = 'HTTP/1.1 200 OK\r\nContent_Encoding: gzip\r\nContent-Length: 2\r\n\r\nsk';
    const ranges = 'HTTP/1.1 200 OK\r\nContent-Type: multipart/byteranges\r\nContent-Length: 2\r\n\r\nsk';
    for (const answer of [partial, packed, encoded, ranges]) {
      await using server = await rawUpstream({ answer });
      using wire = await wireFor('binding', server.port);
      expect(
        await send('binding', server.port, 'GET TARGET HTTP/1.1\r\nHost: x\r\n\r\n', wire),
        answer,
      ).toMatch(/^HTTP\/1\.1 502 /);
    }
    using wire = await wireFor('binding', raw.port);
    const asking =
      'GET TARGET HTTP/1.1\r\nHost: x\r\nRange: bytes=0-1\r\nIf_Range: x\r\nX-MS-Range: bytes=0-1\r\n\r\n';
    expect(await send('binding', raw.port, asking, wire)).toMatch(/^HTTP\/1\.1 200 OK/);
    wire[Symbol.dispose]();
    expect((await raw.taken()).join('')).not.toMatch(/range/i);
  });

  it('input that may be the start of a request is treated as a request, also in pieces', async () => {
    const rule = toHere('allowed.test', raw.port);
    using wire = await openWire({ mode: 'allow-list', allow: [rule], deny: [] });
    const rest = '/ok/a HTTP/1.1\r\nHost: other.test\r\n\r\n';
    const beginnings = [
      ...[
        'GET |',
        'GET\t|',
        'GET  |',
        '\r\nGET |',
        'G|ET ',
        'GET| ',
        'X_OTHER |',
        'Foo.Bar1\t|',
        '\v\fGET |',
      ],
      ...['|GET\t', 'GET \t|\t', '\r\n|GET ', ' |GET ', '\t| GET\v'],
      ...[
        '1GET |',
        '-| ',
        `${'A'.repeat(33)} |`,
        `${'A'.repeat(63)}|${'A'.repeat(90)} `,
        `|${'A'.repeat(300)} `,
      ],
    ];
    for (const beginning of beginnings) {
      const [first = '', second = ''] = beginning.split('|');
      const socket = await tunnelTo(wire, 'allowed.test', raw.port);
      await new Promise((resolve) => socket.write(Buffer.from(first, 'latin1'), resolve));
      await new Promise(setImmediate);
      expect(await exchange(socket, second + rest), beginning).toMatch(/^HTTP\/1\.1 40[03] /);
    }
    expect(await raw.taken()).toEqual([]);
  });

  it('NET-4: one request stays one request for random pieces too', { timeout: 120_000 }, async () => {
    const piece = fc.constantFrom(
      ...[
        'GET TARGET HTTP/1.1\r\n',
        'POST TARGET HTTP/1.1\r\n',
        'DELETE /admin/x HTTP/1.1\r\n',
        'Host: HOST\r\n',
      ],
      ...['Content-Length: 5\r\n', 'content-length:0\r\n', 'Transfer-Encoding: chunked\r\n', 'TE: x\r\n'],
      ...[
        'Connection: content-length\r\n',
        'Connection: close\r\n',
        'Connection: x\r\n',
        'Authorization: Bearer m\r\n',
      ],
      ...[
        'Upgrade: websocket\r\n',
        'Connection: Upgrade\r\n',
        'Expect: 100-continue\r\n',
        'X: y\r\n',
        ' folded\r\n',
      ],
      ...[
        '\r\n',
        '\n',
        '\r',
        ' ',
        '\t',
        '\0',
        ':',
        'hello',
        '5\r\nhello\r\n',
        '0\r\n\r\n',
        '0\r\n',
        '\xff',
        '5;x\r\n',
      ],
    );
    const text = fc
      .tuple(
        fc.constantFrom('GET', 'POST', 'DELETE', 'HEAD'),
        fc.array(piece, { maxLength: 6 }),
        fc.array(piece, { maxLength: 6 }),
      )
      .map(
        ([method, lines, rest]) =>
          `${method} TARGET HTTP/1.1\r\nHost: HOST\r\n${lines.join('')}\r\n${rest.join('')}`,
      );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom<Way>('binding', 'proxy', 'tunnel'), text, async (way, sent) => {
        await sendBy(way, raw.port, sent);
        judge(way, raw.port, await raw.taken());
      }),
      { seed: 20_261_118, numRuns: 400 },
    );
  });
});
