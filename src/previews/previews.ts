/**
 * Servers inside sandboxes, seen from this machine: each port has a host name of its own on a server of its own, so
 * that its pages share no origin and no cookie with the API or with each other.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Cancel } from '../core/cancel.ts';
import { GeodeError, isGeodeError } from '../core/errors.ts';
import type { PersistentSandbox } from '../core/persistent.ts';
import { forward, forwardUpgrade } from './forward.ts';
import { cookieOf, tokenCookie, tokenQuery } from './token.ts';

/** The oldest gives way. */
const mostOfSandbox = 32;

/** Whoever has the URL sees the port, until the sandbox stops: the token in it becomes a cookie. */
interface Preview {
  readonly port: number;
  readonly url: string;
}

export interface Previews extends AsyncDisposable {
  /** A sandbox with a preview runs. */
  readonly isShowing: boolean;
  /** The same for the same port of a sandbox while it runs; `invalid_input` when nothing listens there. */
  open(sandbox: PreviewedSandbox, port: number, options?: Cancel): Promise<Preview>;
}

type PreviewedSandbox = Pick<PersistentSandbox, 'id' | 'end' | 'tunnel'>;

interface Entry {
  readonly name: string;
  readonly token: string;
  readonly port: number;
  readonly sandbox: PreviewedSandbox;
}

/** Listens on loopback from the first preview on. */
export function openPreviews(): Previews {
  const entries = new Map<string, Entry>();
  let serving: Promise<Server> | undefined;

  const found = (request: IncomingMessage): Entry | Refused => {
    const [name = ''] = (request.headers.host ?? '').toLowerCase().split('.localhost');
    const entry = entries.get(name);
    if (entry === undefined) return { status: 404, why: 'There is no such preview.' };
    if (entry.sandbox.end !== undefined) {
      entries.delete(name);
      return { status: 410, why: 'The sandbox of this preview has ended.' };
    }
    const { origin } = request.headers;
    if (origin !== undefined && origin !== `http://${request.headers.host}`)
      return { status: 403, why: 'Pages of other origins may not call this preview.' };
    return entry;
  };
  const isAllowed = (request: IncomingMessage, { token }: Entry) => isSame(cookieOf(request), token);

  const server = () => {
    const made = createServer({ requestTimeout: 0, maxHeaderSize: 64 * 1024 }, (request, response) => {
      const entry = found(request);
      if ('status' in entry) return void response.writeHead(entry.status).end(entry.why);
      const given = tokenQuery(request);
      if (given !== undefined && isSame(given.token, entry.token)) {
        const headers = {
          location: given.rest,
          'set-cookie': tokenCookie(entry.token),
          'cache-control': 'no-store',
        };
        return void response.writeHead(303, headers).end();
      }
      if (!isAllowed(request, entry))
        return void response.writeHead(401).end('This preview needs its token.');
      void forward(request, response, () => entry.sandbox.tunnel(entry.port));
    });
    made.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => {});
      const entry = found(request);
      const status = 'status' in entry ? entry.status : isAllowed(request, entry) ? undefined : 401;
      if (status !== undefined || 'status' in entry)
        return void socket.end(
          `HTTP/1.1 ${status} Refused\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`,
        );
      void forwardUpgrade(request, socket, head, () => entry.sandbox.tunnel(entry.port));
    });
    return listening(made);
  };

  return {
    get isShowing() {
      return [...entries.values()].some(({ sandbox }) => sandbox.end === undefined);
    },
    async open(sandbox, port, options = {}) {
      await refuseUnserved(sandbox, port, options);
      for (const [name, entry] of entries) if (entry.sandbox.end !== undefined) entries.delete(name);
      const own = [...entries.values()].filter((entry) => entry.sandbox.id === sandbox.id);
      const known = own.find((entry) => entry.port === port);
      const [oldest] = own;
      if (known === undefined && oldest !== undefined && own.length >= mostOfSandbox)
        entries.delete(oldest.name);
      const entry = known ?? entryFor(sandbox, port);
      entries.set(entry.name, entry);
      serving ??= server();
      const address = (await serving).address();
      if (address === null || typeof address === 'string')
        throw new GeodeError('internal', 'Previews have no port');
      return { port, url: `http://${entry.name}.localhost:${address.port}/?geode_token=${entry.token}` };
    },
    async [Symbol.asyncDispose]() {
      entries.clear();
      const open = await serving;
      serving = undefined;
      if (open === undefined) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      open.close(() => resolve());
      open.closeAllConnections();
      await promise;
    },
  };
}

interface Refused {
  readonly status: number;
  readonly why: string;
}

function entryFor(sandbox: PreviewedSandbox, port: number): Entry {
  const name = `${port}-${randomBytes(10).toString('hex')}`;
  return { name, token: randomBytes(24).toString('hex'), port, sandbox };
}

async function refuseUnserved(sandbox: PreviewedSandbox, port: number, options: Cancel): Promise<void> {
  try {
    (await sandbox.tunnel(port, options)).on('error', () => {}).destroy();
  } catch (error) {
    if (!isGeodeError(error, 'tunnel_refused')) throw error;
    throw new GeodeError('invalid_input', `Nothing listens on port ${port} in the sandbox.`, {
      hint: 'Start the server first, on 127.0.0.1 or on all addresses.',
      cause: error,
    });
  }
}

function isSame(given: string | undefined, token: string): boolean {
  const [a, b] = [Buffer.from(given ?? ''), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}

async function listening(server: Server): Promise<Server> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  return server;
}
