/** The HTTP server: listening, timeouts, stopping. */
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { BlockList, isIP } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { GeodeError, reasonOf } from '../base/errors.ts';
import { createApi } from './app.ts';
import { Connections, shareOf } from './connections.ts';
import { type ApiOptions, type ApiParts, defaultApiOptions } from './environment.ts';
import { problemOf } from './problems.ts';
import { followTls, readTls } from './tls-files.ts';
import { serveUpgrades } from './upgrade.ts';

export interface ApiServer extends AsyncDisposable {
  readonly url: string;
  /** Takes no new work, lets requests in progress finish until the deadline, then aborts them. Idempotent. */
  stop(): Promise<void>;
}

export interface UnboundServer extends Pick<ApiServer, 'stop'>, AsyncDisposable {
  /** Not listening yet: the caller decides on a port or a socket. */
  readonly server: Server;
}

/** The API on an HTTP server, WebSockets included. */
export function createApiServer(parts: ApiParts, overrides: Partial<ApiOptions> = {}): UnboundServer {
  const options = { ...defaultApiOptions, ...overrides };
  const stopping = new AbortController();
  const app = createApi(parts, options, stopping.signal);
  const settings = {
    headersTimeout: options.headersTimeoutMs,
    requestTimeout: options.requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, options.headersTimeoutMs),
    // Long enough for a query of the maximum length, percent-encoded.
    maxHeaderSize: 128 * 1024,
  };
  const listener = getRequestListener(app.fetch, { errorHandler: refuseMalformed });
  const { tls } = options;
  let following: Disposable | undefined;
  let server: Server;
  if (tls === undefined) server = createServer(settings, listener);
  else {
    const handshakeTimeout = options.headersTimeoutMs;
    const secure = createTlsServer({ ...settings, handshakeTimeout, ...readTls(tls) }, listener);
    following = followTls(tls, secure, parts.log);
    server = secure;
  }
  new Connections(server, { ...shareOf(options.connections), ...options.connectionShares });
  const upgrades = serveUpgrades(server, app.fetch, refuseMalformed);

  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopping.abort();
    following?.[Symbol.dispose]();
    stopped ??= Promise.all([upgrades.stop(), close(server, options.stopTimeoutMs)]).then(() => {});
    return stopped;
  };
  return { server, stop, [Symbol.asyncDispose]: stop };
}

/** The API on a TCP port. */
export async function startApi(parts: ApiParts, overrides: Partial<ApiOptions> = {}): Promise<ApiServer> {
  const options = { ...defaultApiOptions, ...overrides };
  if (parts.keys === 'off' && !isLoopback(options.host)) {
    throw new GeodeError('invalid_config', `Without auth the server refuses to listen on ${options.host}`, {
      hint: 'Turn `gateway.auth` on, or listen on 127.0.0.1.',
    });
  }
  const { server, stop } = createApiServer(parts, { ...overrides, callers: 'keys' });
  await listen(server, options);
  return {
    url: urlOf(server, options.tls === undefined ? 'http' : 'https'),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** A request that cannot be parsed: no Host header, or an invalid URL. */
function refuseMalformed(thrown: unknown): Response {
  const error = new GeodeError('invalid_input', `The request is malformed: ${reasonOf(thrown)}`);
  return Response.json(problemOf(error), { status: error.status });
}

function isLoopback(host: string): boolean {
  if (host === 'localhost') return true;
  const family = isIP(host);
  return family !== 0 && loopback.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

async function listen(server: Server, { host, port }: ApiOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(port, host, resolve);
  try {
    await promise;
  } catch (thrown) {
    throw new GeodeError(
      'invalid_config',
      `The server cannot listen on ${host}:${port}: ${reasonOf(thrown)}`,
      {
        hint: 'Stop the program that uses the port, or set another `gateway.port`.',
        cause: thrown,
      },
    );
  }
}

async function close(server: Server, timeoutMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (!server.listening) return;
  server.close(() => resolve());
  const deadline = setTimeout(() => server.closeAllConnections(), timeoutMs);
  await promise;
  clearTimeout(deadline);
}

function urlOf(server: Server, scheme: 'http' | 'https'): string {
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new GeodeError('internal', 'The server has no port');
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `${scheme}://${host}:${address.port}`;
}
