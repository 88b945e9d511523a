/** A hatch without a sandbox, real sockets on both of its sides, and a server that keeps every byte it gets. */

import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createServer as createTlsServer, type TLSSocket, connect as tlsConnect } from 'node:tls';
import { openHatch } from '../../src/egress/open-hatch.ts';
import type { BindingSpec, Denial, EgressPolicy, Hatch } from '../../src/seams/egress.ts';
import { fixture } from '../contracts/harness.ts';
import { testNames, trusting } from './hatch-fixture.ts';

export const realKey = 'sk-real-key-0123456789abcdefghijklmnop';

/** Answers each end of a header with `ok`, and remembers what came, connection by connection. */
export interface RawUpstream extends AsyncDisposable {
  readonly port: number;
  /** Bytes of each connection since the last call, when all of them have ended. */
  taken(): Promise<readonly string[]>;
}

export async function rawUpstream(
  options: { readonly tls?: boolean; readonly answer?: string } = {},
): Promise<RawUpstream> {
  const { answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok' } = options;
  let streams: { bytes: string }[] = [];
  let ends: Promise<void>[] = [];
  const sockets = new Set<Socket>();
  const onStream = (socket: Socket) => {
    const seen = { bytes: '' };
    streams.push(seen);
    socket
      .on('error', () => {})
      .on('data', (chunk: Buffer) => {
        const hadEnd = seen.bytes.includes('\r\n\r\n');
        seen.bytes += chunk.toString('latin1');
        if (hadEnd || !seen.bytes.includes('\r\n\r\n')) return;
        socket.write(answer);
        if (!/content-length|transfer-encoding/i.test(answer)) socket.end();
      });
  };
  const tls = { key: readFileSync(fixture('tls/server.key')), cert: readFileSync(fixture('tls/server.crt')) };
  const server = options.tls ? createTlsServer(tls, onStream) : createServer(onStream);
  server
    .on('tlsClientError', () => {})
    .on('connection', (socket: Socket) => {
      sockets.add(socket);
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.push(promise);
      socket.once('close', () => {
        sockets.delete(socket);
        resolve();
      });
    });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  /** Connections are accepted in their order: those that were made before this one are here when it is. */
  const accepted = async () => {
    const marker = connect(port, '127.0.0.1').on('error', () => {});
    await new Promise((resolve) => marker.once('connect', resolve));
    while (![...sockets].some(({ remotePort }) => remotePort === marker.localPort))
      await new Promise(setImmediate);
    marker.destroy();
  };
  return {
    port,
    async taken() {
      await accepted();
      await Promise.all(ends);
      const all = streams.map(({ bytes }) => bytes).filter((bytes) => bytes !== '');
      [streams, ends] = [[], []];
      return all;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export interface Wire extends Disposable {
  readonly denials: readonly Denial[];
  /** Connects to a door, as a program in the sandbox would. */
  connect(door: string): Promise<Socket>;
}

/** The host's side is whole; the guest is a socket of this machine. */
export async function openWire(policy: EgressPolicy, bindings: readonly BindingSpec[] = []): Promise<Wire> {
  const denials: Denial[] = [];
  let accept: (door: string, stream: Duplex) => void = () => {};
  const hatch: Hatch = {
    open: async (doors) => doors.map(({ name }) => ({ name, port: 1, path: `/${name}` })),
    close: async () => {},
    trust: async () => '/roots.pem',
    serve(onConnection) {
      accept = onConnection;
      return { [Symbol.dispose]() {} };
    },
    note: (denial) => void denials.push(denial),
    denials: () => denials,
  };
  const open = await openHatch({
    sandbox: { runtime: 'bubblewrap', hatch },
    owner: { sandboxId: 'wire', user: 'alice' },
    spec: { policy, bindings },
    resolve: testNames,
    audit: () => {},
    bindings: { secret: () => realKey, refusal: () => undefined, onUsage: () => {} },
    ...trusting,
  });
  const waiting: string[] = [];
  const guest = createServer({ allowHalfOpen: true }, (socket) => accept(waiting.shift() ?? '', socket));
  await new Promise<void>((resolve) => guest.listen(0, '127.0.0.1', resolve));
  const clients = new Set<Socket>();
  return {
    denials,
    async connect(door) {
      waiting.push(door);
      const socket = connect({
        port: (guest.address() as AddressInfo).port,
        host: '127.0.0.1',
        allowHalfOpen: true,
      });
      clients.add(socket);
      socket.on('error', () => {});
      await new Promise((resolve) => socket.once('connect', resolve));
      return socket;
    },
    [Symbol.dispose]() {
      for (const client of clients) client.destroy();
      guest.close();
      open[Symbol.dispose]();
    },
  };
}

/** Sends bytes, ends, and gives all that comes back. */
export async function exchange(stream: Duplex, bytes: string): Promise<string> {
  let got = '';
  const { promise, resolve } = Promise.withResolvers<void>();
  stream.on('data', (chunk: Buffer) => {
    got += chunk.toString('latin1');
  });
  stream
    .once('end', resolve)
    .once('close', resolve)
    .on('error', () => {});
  stream.end(Buffer.from(bytes, 'latin1'));
  await promise;
  stream.destroy();
  return got;
}

/** Opens a tunnel by CONNECT, for plain HTTP or TLS inside. */
export async function tunnelTo(wire: Wire, host: string, port: number): Promise<Socket> {
  const socket = await wire.connect('proxy');
  socket.write(`CONNECT ${host}:${port} HTTP/1.1\r\n\r\n`);
  const head = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
  if (!head.toString().startsWith('HTTP/1.1 200')) throw new Error(head.toString());
  return socket;
}

export async function openedTunnelTo(wire: Wire, host: string, port: number): Promise<TLSSocket> {
  const socket = await tunnelTo(wire, host, port);
  const secure = tlsConnect({ socket, servername: host, rejectUnauthorized: false });
  secure.on('error', () => {});
  await new Promise((resolve, reject) => secure.once('secureConnect', resolve).once('error', reject));
  return secure;
}

export interface WireRequest {
  readonly method: string;
  readonly target: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

/** Reads the bytes of a connection as the strictest server would. Throws where two servers could disagree. */
export function readStrictly(bytes: string): readonly WireRequest[] {
  const requests: WireRequest[] = [];
  for (let rest = bytes; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n');
    if (end === -1) throw new Error(`bytes without an end: ${JSON.stringify(rest)}`);
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n');
    rest = rest.slice(end + 4);
    const [, method = '', target = ''] = /^([A-Z-]+) (\/[\x21-\x7e]*) HTTP\/1\.1$/.exec(first) ?? [];
    if (method === '') throw new Error(`not a request line: ${JSON.stringify(first)}`);
    const fields = lines.map((line) => {
      const [, name = '', value = ''] =
        /^([!#$%&'*+.^`|~0-9A-Za-z-]+): ?([\t\x20-\x7e\x80-\xff]*)$/.exec(line) ?? [];
      if (name === '') throw new Error(`not a header field: ${JSON.stringify(line)}`);
      return [name.toLowerCase(), value] as const;
    });
    const of = (wanted: string) => fields.flatMap(([name, value]) => (name === wanted ? [value] : []));
    const [lengths, encodings] = [of('content-length'), of('transfer-encoding')];
    if (lengths.length + encodings.length > 1) throw new Error('framed twice');
    if (of('host').length !== 1) throw new Error('no single host');
    if (encodings.some((value) => value !== 'chunked')) throw new Error('another encoding');
    const body =
      encodings.length === 1
        ? chunksOf(rest)
        : { text: rest.slice(0, Number(lengths[0] ?? 0)), taken: Number(lengths[0] ?? 0) };
    requests.push({ method, target, fields, body: body.text });
    // A client that ended early leaves a body that is cut, and nothing after it.
    rest = rest.slice(body.taken);
  }
  return requests;
}

function chunksOf(bytes: string): { text: string; taken: number } {
  let text = '';
  for (let at = 0; ; ) {
    const size = /^([0-9a-f]{1,8})\r\n/i.exec(bytes.slice(at, at + 10));
    if (size === null) {
      if (bytes.slice(at).length > 8) throw new Error('chunks cannot be read');
      return { text, taken: bytes.length };
    }
    const length = Number.parseInt(size[1] ?? '', 16);
    at += size[0].length;
    if (length === 0) return { text, taken: bytes.startsWith('\r\n', at) ? at + 2 : bytes.length };
    text += bytes.slice(at, at + length);
    at += length + 2;
  }
}
