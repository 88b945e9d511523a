/** Reaches a host on this machine over its own socket. Only for Node: `client.ts` does not import it. */
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { WebSocket } from 'ws';
import { socketProtocol } from '../api/schemas/socket-frames.ts';
import type { Transport } from './transport.ts';

export function unixTransport(socketPath: string): Transport {
  return {
    name: socketPath,
    fetch: (path, init) => fetchOver(socketPath, path, init),
    connect(path, headers) {
      const socket = new WebSocket(`ws+unix:${socketPath}:${path}`, [socketProtocol], {
        headers,
        perMessageDeflate: false,
      });
      socket.binaryType = 'arraybuffer';
      return socket;
    },
  };
}

/** As `fetch` does it, which knows no Unix sockets. */
async function fetchOver(socketPath: string, path: string, init: RequestInit): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const given = new Request(`http://localhost${path}`, init);
  const outgoing = request({
    socketPath,
    path,
    method: given.method,
    headers: Object.fromEntries(given.headers),
    ...(init.signal != null && { signal: init.signal }),
  });
  outgoing.on('error', reject);
  outgoing.on('response', (incoming) => {
    const status = incoming.statusCode ?? 500;
    const hasBody = status !== 204 && status !== 304;
    const headers = Object.entries(incoming.headersDistinct).flatMap(([name, values = []]) =>
      values.map((value): [string, string] => [name, value]),
    );
    if (!hasBody) incoming.resume();
    const body = hasBody ? ReadableStream.from(incoming) : null;
    resolve(new Response(body, { status, headers }));
  });
  if (given.body === null) outgoing.end();
  else await pipeline(Readable.from(given.body), outgoing).catch(reject);
  return promise;
}
