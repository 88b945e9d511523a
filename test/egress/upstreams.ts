import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { fixture } from '../contracts/harness.ts';

/** A real server on loopback that remembers what it was asked. */
export interface Upstream extends AsyncDisposable {
  readonly port: number;
  readonly seen: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[];
  onUpgrade(answer: (request: IncomingMessage, socket: Duplex) => void): void;
  /** Connections that were made, whether or not anything came over them. */
  readonly connections: Set<Socket>;
}

export const certificateFile = fixture('tls/server.crt');

export function httpUpstream(answer: RequestListener = hello): Promise<Upstream> {
  return listening((upstream) => createHttpServer(recording(upstream, answer)));
}

export function tlsUpstream(answer: RequestListener = hello): Promise<Upstream> {
  const key = readFileSync(fixture('tls/server.key'));
  const cert = readFileSync(certificateFile);
  return listening((upstream) => createTlsServer({ key, cert }, recording(upstream, answer)));
}

/** Sends back what it gets. */
export function echoUpstream(): Promise<Upstream> {
  return listening(() => createTcpServer((socket) => socket.on('error', () => {}).pipe(socket)));
}

/** A server that answers with the number of received bytes after the last one. */
export function summingUpstream(): Promise<Upstream> {
  return listening(() =>
    createTcpServer({ allowHalfOpen: true }, (socket) => {
      let count = 0;
      socket
        .on('error', () => {})
        .on('data', (chunk) => {
          count += chunk.length;
        });
      socket.once('end', () => socket.end(String(count)));
    }),
  );
}

const hello: RequestListener = (request, response) => {
  response.setHeader('x-upstream', 'yes');
  response.end(`hello from ${request.headers.host}${request.url}`);
};

function recording({ seen }: Pick<Upstream, 'seen'>, answer: RequestListener): RequestListener {
  return (request, response) => {
    const entry = {
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      body: '',
    };
    seen.push(entry);
    request.on('data', (chunk) => {
      entry.body += chunk;
    });
    answer(request, response);
  };
}

async function listening(make: (upstream: Pick<Upstream, 'seen'>) => Server): Promise<Upstream> {
  const seen: Upstream['seen'] = [];
  const connections = new Set<Socket>();
  const server = make({ seen });
  server.on('connection', (socket: Socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    connections,
    onUpgrade: (answer) => void server.on('upgrade', answer),
    async [Symbol.asyncDispose]() {
      for (const socket of connections) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
