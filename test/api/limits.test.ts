import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { EventLog, eventChapter } from '../../src/ledger/event-log.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openRaw, type RawConnection } from './raw-http.ts';
import { startTestServer, type TestServer, type TestServerOptions } from './server-fixture.ts';

const context = '/api/v1/context';
const body = JSON.stringify({ content: 'a fact', category: 'core', source: 'test' });

/** A request for an ingest, up to its body. */
function ingestHead(server: TestServer, length: number = body.length): string {
  const { host } = new URL(server.url);
  return `POST ${context}/ingest HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${server.key('alice')}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
}

async function untilReceived(connection: RawConnection, text: string): Promise<void> {
  let received = '';
  while (!received.includes(text)) received += String(await once(connection.socket, 'data'));
}

/** With events that can be followed. */
async function startStreamServer(options: TestServerOptions): Promise<TestServer> {
  const folder = temporaryFolder();
  const ledger = new Ledger(join(folder.path, 'ledger.db'), [eventChapter]);
  const server = await startTestServer({ ...options, parts: { events: new EventLog(ledger) } });
  return {
    ...server,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      ledger[Symbol.dispose]();
      folder[Symbol.dispose]();
    },
  };
}

/** Streams of events with one key, one after the other; they stay open. */
function streamsOf(server: TestServer, user: string) {
  const stop = new AbortController();
  const headers = { authorization: `Bearer ${server.key(user)}` };
  return {
    async open(count: number): Promise<number[]> {
      const statuses: number[] = [];
      for (; count > 0; count -= 1) {
        const { status } = await fetch(`${server.url}/api/v1/events`, { headers, signal: stop.signal });
        statuses.push(status);
      }
      return statuses;
    },
    [Symbol.dispose]: () => stop.abort(),
  };
}

describe('API-1: body limits', () => {
  test('a body over the limit is refused by its Content-Length, before it is sent', async () => {
    await using server = await startTestServer();
    using connection = await openRaw(server.url);
    connection.write(ingestHead(server, 1e12));
    await untilReceived(connection, 'too_large');
  });

  test('a body without a length is refused when it has grown too large', async () => {
    await using server = await startTestServer();
    const chunk = new Uint8Array(1024 * 1024).fill(0x20);
    // Far over the limit, but with an end: a client whose connection is cut may go on reading its own stream.
    let left = 256;
    const huge = new ReadableStream({
      pull(controller) {
        if (left === 0) return controller.close();
        left -= 1;
        controller.enqueue(chunk);
      },
    });
    const call = server.caller('alice');
    const refused = await call(`${context}/ingest`, {
      body: huge,
      headers: { 'content-type': 'application/json' },
    }).catch((thrown: Error) => thrown);
    // The server may close the connection while the client still writes.
    if (refused instanceof Error) expect(refused.message).toBe('fetch failed');
    else expect(refused).toMatchObject({ status: 413, body: { code: 'too_large' } });
    expect((await call('/health')).status).toBe(200);
  });

  test('the largest entry that is allowed fits, also when JSON escapes each character', async () => {
    await using server = await startTestServer();
    const stored = await server
      .client('alice')
      .ingest({ content: '\u0001'.repeat(1_000_000), category: 'core', source: 'x' });
    expect(stored.outcome).toBe('created');
  });

  test('headers over the limit are refused', async () => {
    await using server = await startTestServer();
    using connection = await openRaw(server.url);
    connection.write(`GET /health HTTP/1.1\r\nHost: localhost\r\nX-Flood: ${'x'.repeat(200_000)}\r\n\r\n`);
    // The server may close the connection while the client still writes.
    expect(await connection.closed).toMatch(/^(HTTP\/1.1 431|$)/);
  });
});

describe('API-1: slow and broken clients', () => {
  test('closes a connection that never ends its headers, and serves others at the same time', async () => {
    await using server = await startTestServer({ headersTimeoutMs: 2_000 });
    const connections = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const connection = await openRaw(server.url);
        connection.write('GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ');
        return connection;
      }),
    );
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    for (const { closed } of connections) expect(await closed).toMatch(/^HTTP\/1.1 408/);
  });

  test('closes the connection of a client that never ends its body', async () => {
    await using server = await startTestServer({ headersTimeoutMs: 1_000, requestTimeoutMs: 1_500 });
    using connection = await openRaw(server.url);
    connection.write(`${ingestHead(server)}{"content": "`);
    expect(await connection.closed).toMatch(/^HTTP\/1.1 408/);
    expect((await server.client('alice').list()).total).toBe(0);
  });

  test('half-sent requests without a key are closed to serve the next caller, from the same and from other addresses', async () => {
    await using server = await startTestServer({ connections: 64, headersTimeoutMs: 600_000 });
    await using all = new AsyncDisposableStack();
    const halves: RawConnection[] = [];
    for (let count = 0; count < 200; count += 1) {
      const half = all.use(await openRaw(server.url));
      half.write('GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ');
      halves.push(half);
    }
    expect((await server.caller('alice')(context)).status).toBe(200);
    // Eight of 64 are for one address without a key: the oldest are ended, and the newest go on.
    for (const { closed } of halves.slice(0, 192)) expect(await closed).toBe('');
    expect(halves.slice(-6).filter(({ socket }) => socket.destroyed)).toEqual([]);
  });

  test('the streams of one key leave connections for other keys', async () => {
    await using server = await startStreamServer({ connections: 64 });
    using alice = streamsOf(server, 'alice');
    const statuses = await alice.open(80);
    expect(statuses.filter((status) => status === 200)).toHaveLength(16);
    expect(statuses.filter((status) => status === 429)).toHaveLength(64);
    expect((await server.caller('bob')(context)).status).toBe(200);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
  });

  test('closes connections of keys that together fill the port, to serve the next caller', async () => {
    await using server = await startStreamServer({ connections: 16, connectionShares: { ofKey: 8 } });
    using alice = streamsOf(server, 'alice');
    using bob = streamsOf(server, 'bob');
    for (const each of [alice, bob]) expect(await each.open(8)).toEqual(Array(8).fill(200));
    expect((await server.caller('carol')(context)).status).toBe(200);
  });

  test('closes an idle connection of a key to serve its next one', async () => {
    await using server = await startTestServer({ connections: 16 });
    const request = `GET ${context} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${server.key('alice')}\r\n\r\n`;
    await using all = new AsyncDisposableStack();
    const idle: RawConnection[] = [];
    for (let count = 0; count < 6; count += 1) {
      const connection = all.use(await openRaw(server.url));
      connection.write(request);
      await untilReceived(connection, 'entries');
      idle.push(connection);
    }
    for (const { closed } of idle.slice(0, 2)) expect(await closed).toMatch(/^HTTP\/1.1 200/);
    expect(idle.slice(2).filter(({ socket }) => socket.destroyed)).toEqual([]);
  });

  test.each([
    'GARBAGE\r\n\r\n',
    'GET / HTTP/1.1\r\n\r\n',
    'GET /health HTTP/1.1\r\nHost:\r\n\r\n',
    'GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
    'POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'GET http://evil.example/health HTTP/1.1\r\nHost: evil.example\r\n\r\n',
    'GET //evil.example/../health HTTP/1.1\r\nHost: evil.example\r\n\r\n',
    `GET /${'\xff\xfe'} HTTP/1.1\r\nHost: evil.example\r\n\r\n`,
  ])('%j is refused', async (request) => {
    await using server = await startTestServer();
    using connection = await openRaw(server.url);
    connection.write(request);
    connection.socket.end();
    expect(await connection.closed).toMatch(/^HTTP\/1.1 (400|403|404)/);
  });

  test('accepts a path that is not UTF-8 as an id', async () => {
    await using server = await startTestServer();
    const call = server.caller('alice');
    for (const path of ['%ff', '%', '%zz', '..%2f..%2fetc%2fpasswd', '%2e%2e%2f']) {
      expect((await call(`${context}/${path}`)).status).toBe(404);
    }
  });
});

describe('API-1: stop', () => {
  test('a request under way is finished, a new one is refused, a new connection is not taken', async () => {
    await using server = await startTestServer();
    using uploading = await openRaw(server.url);
    using starting = await openRaw(server.url);
    uploading.write(ingestHead(server) + body.slice(0, 10));
    starting.write('GET /api/v1/context HTTP/1.1\r\n');
    await server.client('alice').list();

    const stopped = server.api.stop();
    starting.write('Host: localhost\r\n\r\n');
    expect(await starting.closed).toMatch(/^HTTP\/1.1 503[\s\S]+"code":"stopping"/);
    await expect(fetch(`${server.url}/health`)).rejects.toThrow();
    uploading.write(body.slice(10));
    expect(await uploading.closed).toMatch(/^HTTP\/1.1 201/);
    await stopped;
    expect(await server.memory.in('alice').list()).toMatchObject({ total: 1 });
  });

  test('a request that does not end is cut off at the deadline', async () => {
    await using server = await startTestServer({ stopTimeoutMs: 200 });
    using connection = await openRaw(server.url);
    connection.write(ingestHead(server));
    await server.client('alice').list();
    await Promise.all([server.api.stop(), server.api.stop()]);
    expect(await connection.closed).toBe('');
  });

  test('an idle connection does not delay the stop', async () => {
    await using server = await startTestServer({ stopTimeoutMs: 60_000 });
    using idle = await openRaw(server.url);
    idle.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await untilReceived(idle, '"status":"up"');
    const outcome = await Promise.race([server.api.stop().then(() => 'stopped'), sleep(50_000, 'waiting')]);
    expect(outcome).toBe('stopped');
  });
});
