/** Connects to a host on this machine over its own socket. Only for Node: `client.ts` does not import it. */
import type { HttpAnswer, Transport } from './transport.ts';
import { requestOver, type UnixAnswer } from './unix-http.ts';
import { openUnixSocket } from './unix-socket.ts';

export function unixTransport(socketPath: string): Transport {
  return {
    name: socketPath,
    fetch: (path, init) => fetchOver(socketPath, path, init),
    connect: (path, headers, cancel) => openUnixSocket(socketPath, path, headers, cancel),
  };
}

/**
 * A replacement for `fetch`, which does not support Unix sockets. The classes of `fetch` take longer to load than
 * most requests take, so they are used only for forms.
 */
async function fetchOver(socketPath: string, path: string, init: RequestInit): Promise<HttpAnswer> {
  const { method = 'GET', signal } = init;
  return answerOf(await requestOver(socketPath, { method, path, signal, ...encoded(path, init) }));
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

function answerOf({ status, body }: UnixAnswer): HttpAnswer {
  const bytes = async () => {
    const pieces: Buffer[] = [];
    for await (const piece of body) pieces.push(piece);
    return Buffer.concat(pieces);
  };
  return {
    status,
    ok: status >= 200 && status < 300,
    get body() {
      return streamOf(body);
    },
    text: async () => (await bytes()).toString(),
    arrayBuffer: async () => new Uint8Array(await bytes()).buffer,
  };
}

/** Not `ReadableStream.from` of a generator, because its `return` would wait for a pending read. */
function streamOf(body: AsyncIterable<Buffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  const iterator = body[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const step = await iterator.next();
      if (step.done) controller.close();
      else controller.enqueue(new Uint8Array(step.value));
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}
