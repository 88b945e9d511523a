/**
 * Shares the connections of a server among its callers. A connection belongs to the key of its last request, and to
 * nobody before its first. A key that opens many connections loses its own oldest ones, so other callers always get
 * in.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { GeodeError } from '../base/errors.ts';

export interface ConnectionLimits {
  /** Maximum connections in total. */
  readonly most: number;
  /** Maximum connections of one key. */
  readonly ofKey: number;
  /** Maximum connections without a key, and of these from one address. */
  readonly anonymous: number;
  readonly ofAddress: number;
}

/** A quarter for one key and a quarter for those without a key leave half for others. */
export function shareOf(most: number): ConnectionLimits {
  const quarter = Math.max(1, Math.floor(most / 4));
  return { most, ofKey: quarter, anonymous: quarter, ofAddress: Math.max(1, Math.floor(quarter / 2)) };
}

interface Connection {
  readonly socket: Duplex;
  readonly address: string;
  readonly table: Connections;
  key: string | undefined;
  /** Requests in progress, including streams and WebSockets. */
  requests: number;
}

const connections = new WeakMap<Duplex, Connection>();

/**
 * Throws `rate_limited` if the key has too many connections with requests in progress. Ignores a socket of another
 * server.
 */
export function claimConnection(socket: Duplex, key: string): void {
  const connection = connections.get(socket);
  connection?.table.claim(connection, key);
}

export class Connections {
  readonly #limits: ConnectionLimits;
  /** Oldest first. */
  readonly #open = new Set<Connection>();

  constructor(server: Server, limits: ConnectionLimits) {
    this.#limits = limits;
    // Accept connections above the limit too, so that older ones can be closed for them.
    server.maxConnections = limits.most + limits.anonymous;
    // With TLS, requests name the encrypted socket, which is there after the handshake.
    const opened = server instanceof TlsServer ? 'secureConnection' : 'connection';
    server.on(opened, (socket: Socket) => this.#add(socket));
    server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      const connection = connections.get(socket);
      if (connection === undefined) return;
      connection.requests += 1;
      response.once('close', () => {
        connection.requests -= 1;
      });
    });
    server.on('upgrade', (_request: IncomingMessage, socket: Duplex) => {
      const connection = connections.get(socket);
      if (connection !== undefined) connection.requests += 1;
    });
  }

  claim(connection: Connection, key: string): void {
    if (connection.key === key) return;
    const own = this.#of((each) => each.key === key && each !== connection);
    if (own.length >= this.#limits.ofKey) {
      const idle = own.find(({ requests }) => requests === 0);
      if (idle === undefined)
        throw new GeodeError(
          'rate_limited',
          `This key has ${own.length} requests in progress, the maximum for one key`,
          {
            hint: 'Close streams and sockets that are not needed, or use one stream of `/api/v1/events`.',
            details: { retry_after_s: 1 },
          },
        );
      this.#end(idle);
    }
    connection.key = key;
  }

  #add(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    const connection: Connection = { socket, address, table: this, key: undefined, requests: 0 };
    connections.set(socket, connection);
    this.#open.add(connection);
    socket.once('close', () => this.#open.delete(connection));
    const { most, anonymous, ofAddress } = this.#limits;
    const anonymousOnes = this.#of(({ key }) => key === undefined);
    const here = anonymousOnes.filter((each) => each.address === address);
    if (here.length > ofAddress) this.#endOne(here);
    else if (anonymousOnes.length > anonymous) this.#endOne(anonymousOnes);
    else if (this.#open.size > most) this.#endOne(this.#largestShare());
  }

  #of(passes: (connection: Connection) => boolean): readonly Connection[] {
    return [...this.#open].filter(passes);
  }

  /** The oldest one without a request, else the oldest, but never the newest, for which room is made. */
  #endOne(among: readonly Connection[]): void {
    const older = among.filter((each) => each !== [...this.#open].at(-1));
    const ended = older.find(({ requests }) => requests === 0) ?? older[0];
    if (ended !== undefined) this.#end(ended);
  }

  #largestShare(): readonly Connection[] {
    const shares = Map.groupBy(this.#open, ({ key }) => key ?? '');
    return [...shares.values()].reduce((one, other) => (other.length > one.length ? other : one), []);
  }

  #end(connection: Connection): void {
    this.#open.delete(connection);
    connection.socket.destroy();
  }
}
