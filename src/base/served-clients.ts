import type { Server } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * Connections that an HTTP server answers without listening on a port. The server's own timeouts and its
 * `closeAllConnections` work only while it listens, so the limit of time and the end are here.
 */
export class ServedClients implements Disposable {
  readonly #server: Server;
  readonly #longestMs: number;
  readonly #deadlines = new Map<Duplex, NodeJS.Timeout>();

  /** A client is closed if its next request, the body or the answer takes longer than this. */
  constructor(server: Server, longestMs: number) {
    this.#server = server;
    this.#longestMs = longestMs;
    server.on('request', ({ socket }, response) => {
      this.#deadlines.get(socket)?.refresh();
      response.once('close', () => this.#deadlines.get(socket)?.refresh());
    });
  }

  accept(client: Duplex): void {
    client.on('error', () => {});
    this.#deadlines.set(client, setTimeout(() => client.destroy(), this.#longestMs).unref());
    client.once('close', () => {
      clearTimeout(this.#deadlines.get(client));
      this.#deadlines.delete(client);
    });
    this.#server.emit('connection', client);
    client.resume();
  }

  [Symbol.dispose](): void {
    for (const client of this.#deadlines.keys()) client.destroy();
  }
}
