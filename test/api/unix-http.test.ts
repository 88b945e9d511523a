import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createRawServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { requestOver, type UnixRequest } from '../../src/client/unix-http.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const plain = { method: 'GET', path: '/', headers: {} } satisfies UnixRequest;

async function listening(server: Server) {
  const folder = temporaryFolder();
  const path = join(folder.path, 'api.sock');
  server.listen(path);
  await once(server, 'listening');
  return {
    path,
    [Symbol.dispose]() {
      server.close();
      folder[Symbol.dispose]();
    },
  };
}

const serve = (answer: RequestListener) => listening(createServer(answer));

/** Sends these bytes to every client and closes the connection. */
const says = (...pieces: readonly string[]) =>
  listening(
    createRawServer((socket) => {
      socket.on('error', () => {});
      socket.resume();
      for (const piece of pieces) socket.write(piece, 'latin1');
      socket.end();
    }),
  );

async function read(path: string, request: UnixRequest = plain): Promise<{ status: number; text: string }> {
  const { status, body } = await requestOver(path, request);
  const pieces: Buffer[] = [];
  for await (const piece of body) pieces.push(piece);
  return { status, text: Buffer.concat(pieces).toString() };
}

describe('HTTP over the socket of a host', () => {
  it('reads bodies with a length, in chunks, and of nothing', async () => {
    const text = 'é'.repeat(300_000);
    using server = await serve((request, response) => {
      if (request.url === '/none') response.writeHead(204).end();
      else if (request.url === '/chunks') {
        response.write('one, ');
        void setImmediate().then(() => response.end('two'));
      } else response.end(text);
    });
    expect(await read(server.path)).toEqual({ status: 200, text });
    expect(await read(server.path, { ...plain, path: '/chunks' })).toEqual({ status: 200, text: 'one, two' });
    expect(await read(server.path, { ...plain, path: '/none' })).toEqual({ status: 204, text: '' });
  });

  it('sends text, bytes and streams whole', async () => {
    using server = await serve(async (request, response) => {
      const hash = createHash('sha256');
      for await (const piece of request) hash.update(piece);
      response.end(hash.digest('hex'));
    });
    const bytes = Buffer.alloc(3_000_000, 'abcdefg');
    const expected = createHash('sha256').update(bytes).digest('hex');
    const pieces = async function* () {
      for (let at = 0; at < bytes.length; at += 70_001) yield new Uint8Array(bytes.subarray(at, at + 70_001));
    };
    for (const body of [bytes.toString(), bytes, ReadableStream.from(pieces())])
      expect(await read(server.path, { ...plain, method: 'PUT', body })).toEqual({
        status: 200,
        text: expected,
      });
  });

  it('reads chunks in any split, and skips bytes before the answer', async () => {
    const whole =
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n';
    using server = await says(...whole);
    expect(await read(server.path)).toEqual({ status: 200, text: 'hello world' });
  });

  it.each([
    ['in its head', 'HTTP/1.1 200 OK\r\nContent-'],
    ['in a body of known length', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf'],
    ['in a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhalf'],
    ['between chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n'],
  ])('reports an interrupted answer %s', async (_, said) => {
    using server = await says(said);
    await expect(read(server.path)).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it.each([
    ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'],
    ['a head without end', `HTTP/1.1 200 OK\r\nX: ${'y'.repeat(70_000)}`],
    ['a chunk without length', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'],
  ])('refuses %s', async (_, said) => {
    using server = await says(said);
    await expect(read(server.path)).rejects.toThrow(/answer/);
  });

  it('throws for an unreachable host, and ends with the signal, before and during the answer', async () => {
    await expect(read('/nowhere/api.sock')).rejects.toMatchObject({ code: 'ENOENT' });
    using server = await serve((_, response) => void response.write('a beginning'));
    const stop = new AbortController();
    const { body } = await requestOver(server.path, { ...plain, signal: stop.signal });
    const reading = (async () => {
      for await (const _ of body) stop.abort('enough');
    })();
    await expect(reading).rejects.toMatchObject({ code: 'ABORT_ERR', cause: 'enough' });
    await expect(read(server.path, { ...plain, signal: stop.signal })).rejects.toMatchObject({
      code: 'ABORT_ERR',
    });
  });

  it.each([
    ['in chunks', {}],
    ['with a length', { 'content-length': '100' }],
    ['until the end', { connection: 'close', 'transfer-encoding': 'identity' }],
  ])('closes the connection when its reader leaves while more may come: a body %s', async (_, headers) => {
    const left = Promise.withResolvers<void>();
    using server = await serve((_, response) => {
      response.on('close', () => left.resolve());
      response.writeHead(200, headers).write('a beginning');
    });
    const { body } = await unixTransport(server.path).fetch('/', {});
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
    expect(await reader?.read()).toEqual({ done: false, value: 'a beginning' });
    // The stream begins to read ahead.
    await setImmediate();
    await reader?.cancel();
    await left.promise;
  });

  it('refuses headers and paths that would start a second request', async () => {
    using server = await serve((_, response) => void response.end());
    const asked = [
      { ...plain, headers: { 'x-user': 'a\r\nx-other: b' } },
      { ...plain, path: '/a HTTP/1.1\r\nx: y' },
      { ...plain, path: '/a b' },
    ];
    for (const request of asked) await expect(read(server.path, request)).rejects.toThrow(TypeError);
  });
});
