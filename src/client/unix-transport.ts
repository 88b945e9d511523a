/** Reaches a host on this machine over its own socket. Only for Node: `client.ts` does not import it. */
import { type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Answer, Transport } from './transport.ts';
import { openUnixSocket } from './unix-socket.ts';

export function unixTransport(socketPath: string): Transport {
  return {
    name: socketPath,
    fetch: (path, init) => fetchOver(socketPath, path, init),
    connect: (path, headers, cancel) => openUnixSocket(socketPath, path, headers, cancel),
  };
}

/**
 * As `fetch` does it, which knows no Unix sockets. The classes of `fetch` take longer to load than most requests take:
 * they are used for forms only.
 */
async function fetchOver(socketPath: string, path: string, init: RequestInit): Promise<Answer> {
  const { body, headers } = encoded(path, init);
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const outgoing = request({
    socketPath,
    path,
    method: init.method ?? 'GET',
    headers,
    ...(init.signal != null && { signal: init.signal }),
  });
  outgoing.on('error', reject);
  outgoing.on('response', (incoming) => resolve(answerOf(incoming)));
  if (body === null || typeof body === 'string' || body instanceof Uint8Array)
    outgoing.end(body ?? undefined);
  else await pipeline(Readable.fromWeb(body), outgoing).catch(reject);
  return promise;
}

type Encoded = {
  readonly body: string | Uint8Array | ReadableStream | null;
  readonly headers: Record<string, string>;
};

function encoded(path: string, { body = null, headers, ...init }: RequestInit): Encoded {
  const given = Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, value]) => [name, String(value)]),
  );
  if (body === null || typeof body === 'string') return { body, headers: given };
  if (body instanceof Uint8Array) return { body, headers: given };
  if (isStream(body)) return { body, headers: given };
  const whole = new Request(`http://localhost${path}`, { ...init, headers: given, body });
  return { body: whole.body, headers: Object.fromEntries(whole.headers) };
}

function isStream(body: object): body is ReadableStream {
  return 'getReader' in body;
}

function answerOf(incoming: IncomingMessage): Answer {
  const status = incoming.statusCode ?? 500;
  const bytes = async () => {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece);
    return Buffer.concat(pieces);
  };
  if (status === 204 || status === 304) incoming.resume();
  return {
    status,
    ok: status >= 200 && status < 300,
    get body() {
      return ReadableStream.from<Uint8Array<ArrayBuffer>>(incoming);
    },
    text: async () => (await bytes()).toString(),
    arrayBuffer: async () => new Uint8Array(await bytes()).buffer,
  };
}
