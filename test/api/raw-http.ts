/** HTTP as an attacker sends it: any header, any piece of a request, at any time. */
import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';

export interface RawReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** A whole request with headers that `fetch` would not send. */
export async function sendRaw(
  url: string,
  headers: Readonly<Record<string, string>>,
  method = 'GET',
): Promise<RawReply> {
  const outgoing = request(url, { method, headers });
  outgoing.end();
  const [incoming] = await once(outgoing, 'response');
  return { status: incoming.statusCode, headers: incoming.headers, text: await text(incoming) };
}

export interface RawConnection extends Disposable {
  readonly socket: Socket;
  write(bytes: string): void;
  /** Everything that the server sent until it closed the connection. */
  readonly closed: Promise<string>;
}

export async function openRaw(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes.toString();
  });
  socket.on('error', () => socket.destroy());
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(received)));
  return {
    socket,
    closed,
    write: (bytes) => socket.write(bytes),
    [Symbol.dispose]: () => socket.destroy(),
  };
}
