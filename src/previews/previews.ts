/**
 * Servers inside sandboxes, available on this machine. Each port has its own host name on a separate server, so its
 * pages share no origin and no cookies with the API or with each other. Where such names do not work, a path is used,
 * and its pages have no origin at all (`forms.ts`).
 */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Cancel } from '../base/cancel.ts';
import { GeodeError, isGeodeError } from '../base/errors.ts';
import type { PersistentSandbox } from '../seams/persistent.ts';
import { type Form, isOwnOrigin, nameForm, pathForm, pathParts, preflightAnswer } from './forms.ts';
import { forwardToPreview, forwardUpgradeToPreview } from './forward.ts';
import { isSameToken, Links, newToken, PathToken } from './links.ts';
import { cookieOf, tokenCookie, tokenQuery } from './token.ts';

const serverOptions = {
  requestTimeout: 0,
  maxHeaderSize: 64 * 1024,
  // Any other upgrade offer is dropped, and the request is handled as an ordinary one.
  shouldUpgradeCallback: ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === 'websocket',
};

/** The oldest is removed. */
const mostOfSandbox = 32;

/** The token in a URL works for minutes and becomes a cookie, which works until the sandbox stops. */
interface Preview {
  readonly port: number;
  readonly url: string;
  /** The same without a host name, for pages that only use URLs below their own. */
  readonly pathUrl: string;
}

export interface Previews extends AsyncDisposable {
  /** A sandbox with a preview runs. */
  readonly isShowing: boolean;
  /** The same URL for the same port of a sandbox while it runs. Throws `invalid_input` if nothing listens there. */
  open(sandbox: PreviewedSandbox, port: number, options?: Cancel): Promise<Preview>;
}

type PreviewedSandbox = Pick<PersistentSandbox, 'id' | 'end' | 'tunnel'>;

interface Entry {
  readonly name: string;
  /** The cookie's value; it is in no URL. */
  readonly secret: string;
  readonly links: Links;
  /** Pages of the path form can read their own address, so its token is not valid for the other form. */
  readonly path: PathToken;
  readonly port: number;
  readonly sandbox: PreviewedSandbox;
}

/** An admitted request, and how it is changed. */
interface Admitted {
  readonly entry: Entry;
  readonly form: Form;
  /** To be called when the connection ends. */
  readonly leave?: () => void;
}

/** Listens on loopback from the first preview on. */
export function openPreviews(now: () => number = Date.now): Previews {
  const entries = new Map<string, Entry>();
  let serving: Promise<Server> | undefined;

  const living = (name: string): Entry | Refused => {
    const entry = entries.get(name);
    if (entry === undefined) return { status: 404, why: 'There is no such preview.' };
    if (entry.sandbox.end === undefined) return entry;
    entries.delete(name);
    return { status: 410, why: 'The sandbox of this preview has ended.' };
  };
  const byName = (request: IncomingMessage): Admitted | Refused => {
    const [name = ''] = (request.headers.host ?? '').toLowerCase().split('.localhost');
    const entry = living(name);
    if ('status' in entry) return entry;
    const { origin, host } = request.headers;
    if (origin !== undefined && origin !== `http://${host}`) return stranger;
    const given = tokenQuery(request);
    if (given !== undefined && entry.links.takes(given.token)) {
      const cookie = tokenCookie(entry.secret);
      return { status: 303, why: '', headers: { location: given.rest, 'set-cookie': cookie } };
    }
    if (!isSameToken(cookieOf(request), entry.secret)) return needsToken;
    return { entry, form: nameForm(request) };
  };
  const byPath = (request: IncomingMessage, parts: PathParts): Admitted | Refused => {
    const entry = living(parts.name);
    if ('status' in entry) return entry;
    if (!entry.path.takes(parts.token)) return needsToken;
    if (!isOwnOrigin(request)) return stranger;
    // Without the slash, the page's relative addresses would leave its folder.
    if (parts.rest === undefined) return { status: 308, why: '', headers: { location: `${parts.prefix}/` } };
    const headers = preflightAnswer(request);
    if (headers !== undefined) return { status: 204, why: '', headers };
    return { entry, form: pathForm(request, parts.prefix, parts.rest), leave: entry.path.use() };
  };
  const admit = (request: IncomingMessage): Admitted | Refused => {
    const isNamed = /\.localhost(:\d+)?$/i.test(request.headers.host ?? '');
    const parts = isNamed ? undefined : pathParts(request);
    return parts === undefined ? byName(request) : byPath(request, parts);
  };

  const server = () => {
    const made = createServer(serverOptions, (request, response) => {
      const admitted = admit(request);
      if ('status' in admitted)
        return void response
          .writeHead(admitted.status, { 'cache-control': 'no-store', ...admitted.headers })
          .end(admitted.why);
      const { entry, form, leave } = admitted;
      if (leave !== undefined) response.once('close', leave);
      void forwardToPreview(request, response, form, () => entry.sandbox.tunnel(entry.port));
    });
    made.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => {});
      const admitted = admit(request);
      if ('status' in admitted)
        return void socket.end(
          `HTTP/1.1 ${admitted.status} Refused\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`,
        );
      const { entry, form, leave } = admitted;
      if (leave !== undefined) socket.once('close', leave);
      void forwardUpgradeToPreview(request, socket, head, form, () => entry.sandbox.tunnel(entry.port));
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
      const entry = known ?? entryFor(sandbox, port, now);
      entries.set(entry.name, entry);
      serving ??= server();
      const address = (await serving).address();
      if (address === null || typeof address === 'string')
        throw new GeodeError('internal', 'Previews have no port');
      return {
        port,
        url: `http://${entry.name}.localhost:${address.port}/?geode_token=${entry.links.issue()}`,
        pathUrl: `http://127.0.0.1:${address.port}/p/${entry.name}/${entry.path.issue()}/`,
      };
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
  readonly headers?: Readonly<Record<string, string>>;
}

type PathParts = NonNullable<ReturnType<typeof pathParts>>;

const stranger: Refused = { status: 403, why: 'Pages of other origins may not call this preview.' };
const needsToken: Refused = {
  status: 401,
  why: 'The link to this preview has expired. Get a new one: geode sandbox open CHAT PORT',
};

function entryFor(sandbox: PreviewedSandbox, port: number, now: () => number): Entry {
  const name = `${port}-${randomBytes(10).toString('hex')}`;
  return { name, secret: newToken(), links: new Links(now), path: new PathToken(now), port, sandbox };
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

async function listening(server: Server): Promise<Server> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  return server;
}
