import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GeodeError } from '../../src/base/errors.ts';
import { noLog } from '../../src/base/log.ts';
import { parseTraceparent } from '../../src/base/spans.ts';
import { bindingOf } from '../../src/egress/bindings/bindings.ts';
import { openTelemetryDoor } from '../../src/egress/bindings/telemetry-door.ts';
import { Broker } from '../../src/egress/proxy/broker.ts';
import { openTelemetry } from '../../src/telemetry/open-telemetry.ts';
import { readTraceRequest } from '../../src/telemetry/read-protobuf.ts';
import { eventually } from '../contracts/harness.ts';
import { startCollector } from './collector.ts';

const patience = { timeout: 120_000 };
const json = { 'content-type': 'application/json' };

let made = 0;

function spanNamed(name: string, more: object = {}): object {
  made += 1;
  return {
    traceId: 'AB'.repeat(16),
    spanId: made.toString(16).padStart(16, 'c'),
    name,
    kind: 1,
    startTimeUnixNano: '1700000000000000000',
    endTimeUnixNano: 1_700_000_000_500_000_000,
    ...more,
  };
}

function requestOf(spans: readonly object[], resource: object = {}): string {
  return JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 's' }, spans }] }] });
}

/** The relay of a sandbox of ann on a port, and a collector behind it. */
async function openRelay(relayRate = 1_000, more: { delayMs?: number; relayTimeoutMs?: number } = {}) {
  await using opened = new AsyncDisposableStack();
  const collector = opened.use(await startCollector());
  const telemetry = opened.use(
    openTelemetry({
      url: new URL(`${collector.url}/v1/traces`),
      headers: () => ({}),
      timeoutMs: 60_000,
      tls: () => {
        throw new Error('no TLS here');
      },
      log: noLog,
      delayMs: 10,
      ...{ serviceName: 'geode', version: '1', resource: {}, sample: 1, relayRate },
      ...more,
    }),
  );
  const noted: number[] = [];
  const relay = opened.use(
    telemetry.relay(
      { sandboxId: 'sandbox-1', user: 'ann' },
      { secrets: () => ['a-secret-of-ann-0123'], note: ({ status }) => noted.push(status) },
    ),
  );
  const server = createServer((socket) => relay.accept(socket)).listen(0, '127.0.0.1');
  opened.defer(() => void server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const post = async (
    body: string | Uint8Array<ArrayBuffer>,
    headers: Readonly<Record<string, string>> = json,
    path = '/v1/traces',
  ) => {
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body });
    return { status: answer.status, text: await answer.text(), retry: answer.headers.get('retry-after') };
  };
  const all = opened.move();
  return { collector, telemetry, noted, url, post, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

describe('the relay of traces', patience, () => {
  it('OPS-4: drops what a span claims of the host or of other sandboxes, and every value of a secret', async () => {
    await using relay = await openRelay();
    const attributes = [
      { key: 'geode.user', value: { stringValue: 'root' } },
      { key: 'Geode.chat', value: { stringValue: 'root' } },
      { key: 'a', value: { stringValue: 'x a-secret-of-ann-0123 y' } },
      { key: 'b', value: { kvlistValue: { values: [{ key: 'geode.x', value: { intValue: 1 } }] } } },
      { key: 'c', value: { bytesValue: Buffer.from('a-secret-of-ann-0123').toString('base64') } },
    ];
    const resource = {
      attributes: [
        { key: 'service.name', value: { stringValue: ' GEODE' } },
        { key: 'service.namespace', value: { stringValue: 'host' } },
        { key: 'geode.relayed', value: { boolValue: false } },
      ],
    };
    const body = requestOf([spanNamed('work a-secret-of-ann-0123', { attributes })], resource);
    expect(await relay.post(gzipSync(body), { ...json, 'content-encoding': 'gzip' })).toMatchObject({
      status: 200,
      text: '{}',
    });
    const span = await eventually(async () => relay.collector.spans[0] ?? false, 'the span');
    expect(span.traceId).toBe('ab'.repeat(16));
    expect(span.resource).toEqual({
      'service.name': 'sandbox',
      'service.namespace': 'geode.sandbox',
      'geode.relayed': true,
      'geode.sandbox.id': 'sandbox-1',
      'geode.user': 'ann',
    });
    expect(Object.keys(span.attributes)).toEqual(['a', 'b', 'c']);
    expect(relay.collector.texts.join()).not.toMatch(/a-secret-of-ann|root|YS1zZWNyZXQ/);
  });

  it('refuses a request that is malformed, too large, packed too tightly or for another signal, each with its reason', async () => {
    await using relay = await openRelay();
    const protobuf = { 'content-type': 'application/x-protobuf' };
    const bomb = gzipSync(Buffer.alloc(64 * 1024 ** 2));
    const answers = [
      await relay.post('{'),
      await relay.post('{"resourceSpans": 7}'),
      await relay.post(Buffer.from([0x0a, 0xff, 0x01]), protobuf),
      await relay.post(Buffer.alloc(3 * 1024 ** 2)).catch(() => ({ status: 413, text: 'at most' })),
      await relay.post(bomb, { ...json, 'content-encoding': 'gzip' }),
      await relay.post('x', { ...json, 'content-encoding': 'br' }),
      await relay.post(requestOf(Array.from({ length: 2_049 }, () => spanNamed('x')))),
      await relay.post('x', { 'content-type': 'application/grpc' }),
      await relay.post('{}', json, '/v1/metrics'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 413, 413, 400, 413, 415, 404]);
    for (const { text } of answers) expect(text).toMatch(/not|at most|only|Send/i);
    expect(relay.collector.spans).toEqual([]);
  });

  it('takes the valid spans of a request and names the number of the others', async () => {
    await using relay = await openRelay();
    const spans = [
      spanNamed('good'),
      spanNamed('no id', { spanId: '0'.repeat(16) }),
      spanNamed('a time before 1970', { endTimeUnixNano: '-5' }),
      spanNamed('large', {
        attributes: Array.from({ length: 10 }, (_, key) => ({
          key: `k${key}`,
          value: { stringValue: 'x'.repeat(4_000) },
        })),
      }),
    ];
    const { status, text } = await relay.post(requestOf(spans));
    expect({ status, text }).toEqual({
      status: 200,
      text: '{"partialSuccess":{"rejectedSpans":"3","errorMessage":"3 not valid or larger than 16 KiB"}}',
    });
    const span = await eventually(async () => relay.collector.spans[0] ?? false, 'the span');
    expect([relay.collector.spans.length, span.name]).toEqual([1, 'good']);
    expect(relay.telemetry.samples()).toContainEqual({
      labels: { source: 'sandbox', outcome: 'refused' },
      value: 3,
    });
  });

  it('OPS-4: a sandbox that floods gets 429, and takes no room from the spans of the host', async () => {
    await using relay = await openRelay(0.1);
    const many = requestOf(Array.from({ length: 2_000 }, () => spanNamed('flood')));
    const first = await relay.post(many);
    expect(first).toMatchObject({ status: 200, text: expect.stringContaining('above the allowance') });
    const second = await relay.post(many);
    expect(second).toMatchObject({ status: 429, text: expect.stringContaining('too many bytes') });
    expect(Number(second.retry)).toBeGreaterThan(60);
    relay.telemetry.root('of the host').end();
    await eventually(
      async () => relay.collector.spans.some(({ name }) => name === 'of the host'),
      'the span of the host',
    );
    expect(relay.collector.spans.length).toBeLessThan(10);
  });

  it('OPS-4: refuses lists that would take long to read, before it reads them', async () => {
    await using relay = await openRelay();
    const zeros = Array(900_000).fill(0);
    const tiny = Array(64).fill({ key: 'a' });
    const answers = [
      await relay.post(JSON.stringify({ resourceSpans: zeros })),
      await relay.post(JSON.stringify({ resourceSpans: [{ scopeSpans: zeros }] })),
      await relay.post(requestOf(zeros)),
      await relay.post(requestOf(Array.from({ length: 1_500 }, () => spanNamed('x', { attributes: tiny })))),
    ];
    expect(answers.map(({ status }) => status)).toEqual([413, 413, 413, 413]);
  });

  it('OPS-4: refuses the spans of a resource or scope above 16 KiB, however it is nested', async () => {
    await using relay = await openRelay();
    const stringValue = 'x'.repeat(1_000);
    const arrayValue = { values: Array.from({ length: 20 }, () => ({ stringValue })) };
    const { status, text } = await relay.post(
      requestOf([spanNamed('a'), spanNamed('b')], { attributes: [{ key: 'k', value: { arrayValue } }] }),
    );
    expect({ status, text }).toEqual({ status: 200, text: expect.stringContaining('"rejectedSpans":"2"') });
  });

  it('OPS-4: drops numbers that do not fit in 64 bits', async () => {
    await using relay = await openRelay();
    const numbers = ['9223372036854775807', '-9223372036854775808', '9223372036854775808', 1e300, '007'];
    const attributes = numbers.map((intValue, index) => ({ key: `n${index}`, value: { intValue } }));
    const endTimeUnixNano = '18446744073709551616';
    const { text } = await relay.post(
      requestOf([spanNamed('good', { attributes }), spanNamed('bad', { endTimeUnixNano })]),
    );
    expect(text).toContain('"rejectedSpans":"1"');
    await eventually(async () => relay.collector.spans.length > 0, 'the span');
    const written = relay.collector.texts.join().match(/"intValue":"[^"]*"/g);
    expect(written).toEqual(
      ['9223372036854775807', '-9223372036854775808', '7'].map((number) => `"intValue":"${number}"`),
    );
  });

  it('OPS-4: a span of a sandbox that the collector cannot read costs only spans of that user', async () => {
    await using relay = await openRelay(1_000, { delayMs: 500 });
    relay.collector.unreadable = 'poison';
    const posted = relay.post(requestOf([spanNamed('poison')]));
    relay.telemetry.root('of the host').end();
    expect(await posted).toMatchObject({ status: 200 });
    await eventually(
      async () => relay.collector.spans.some(({ name }) => name === 'of the host'),
      'the span of the host',
    );
    const refused = { labels: { source: 'sandbox', outcome: 'refused' }, value: 1 };
    const isRefused = async () => JSON.stringify(relay.telemetry.samples()).includes(JSON.stringify(refused));
    await eventually(isRefused, 'the refused span');
    expect(JSON.stringify(relay.telemetry.samples())).not.toContain('lost');
    await relay.post(requestOf([spanNamed('fine')]));
    await eventually(
      async () => relay.collector.spans.some(({ name }) => name === 'fine'),
      'the next span of the sandbox',
    );
  });

  it.each([
    ['head', 'POST /v1/traces HTTP/1.1\r\nHost: x\r\nX-Half: '],
    [
      'body',
      'POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
    ],
    ['second head', 'GET / HTTP/1.1\r\nHost: x\r\n\r\nPOST /v1'],
  ])('OPS-4: closes a connection that sends half a %s and then nothing', async (_, half) => {
    await using relay = await openRelay(1_000, { relayTimeoutMs: 300 });
    const { hostname, port } = new URL(relay.url);
    const client = connect({ host: hostname, port: Number(port) });
    client.on('error', () => {}).resume();
    client.write(half);
    await once(client, 'close');
  });
});

it(
  'a host without a collector answers 403, and closes the connections of a sandbox with it',
  patience,
  async () => {
    const owner = { sandboxId: 'sandbox-1', user: 'ann' };
    const audited: unknown[] = [];
    using broker = new Broker({
      ...owner,
      hatch: { note: () => {} },
      policy: { mode: 'deny-all', allow: [], deny: [] },
      ask: () => '',
      audit: ({ status }) => audited.push(status),
    });
    const door = openTelemetryDoor({ owner, broker, binding: bindingOf({ name: 'otlp' }) });
    await using server = createServer((socket) => door.accept(socket)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    expect((await fetch(`http://127.0.0.1:${port}/v1/traces`, { method: 'POST', body: '{}' })).status).toBe(
      403,
    );
    expect(audited).toEqual([403]);
    const accepted = once(server, 'connection');
    const client = connect(port, '127.0.0.1');
    client.on('error', () => {}).resume();
    await accepted;
    door[Symbol.dispose]();
    await once(client, 'close');
  },
);

describe('the reader of protobuf', () => {
  it('reads or refuses any bytes, and nothing else happens', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        try {
          expect(readTraceRequest(bytes)).toBeTypeOf('object');
        } catch (error) {
          expect(error).toBeInstanceOf(GeodeError);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('refuses a message in itself, a thousand times deep, and one that unfolds into too many fields', () => {
    let nested = Buffer.alloc(0);
    // An attribute list in an attribute list: fields 9, 2, 6 and 1.
    for (let depth = 0; depth < 1_000; depth += 1) {
      for (const field of [1, 6, 2]) {
        const tag = Buffer.from([(field << 3) | 2, ...lengthOf(nested.length)]);
        nested = Buffer.concat([tag, nested]);
      }
    }
    const wrapped = [9, 2, 2, 1].reduce(
      (inner, field) => Buffer.concat([Buffer.from([(field << 3) | 2, ...lengthOf(inner.length)]), inner]),
      nested,
    );
    expect(() => readTraceRequest(wrapped)).toThrow(/nested too deep/);
    expect(() => readTraceRequest(Buffer.alloc(1_000_000, Buffer.from([0x0a, 0x00])))).toThrow(/more than/);
  });
});

function lengthOf(length: number): readonly number[] {
  return length < 128 ? [length] : [(length % 128) + 128, ...lengthOf(Math.floor(length / 128))];
}

it.each([
  ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', true],
  ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00', false],
  ['cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-later', true],
  ['ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', undefined],
  ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more', undefined],
  ['00-00000000000000000000000000000000-b7ad6b7169203331-01', undefined],
  ['00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01', undefined],
  ['', undefined],
])('the header traceparent %j is read as the W3C says', (header, isSampled) => {
  expect(parseTraceparent(header)?.isSampled).toBe(isSampled);
});
