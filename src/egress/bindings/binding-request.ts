/** Builds the request to the upstream from a parsed request, without headers that a client may not set. */
import type { IncomingMessage } from 'node:http';
import { hostOf } from '../../contract/host-name.ts';
import type { Request } from '../policy/policy.ts';
import {
  type Fields,
  fieldName,
  type RequestMessage,
  readRequestMessage,
  writtenAs,
} from '../proxy/http-message.ts';
import { headerNameOf, overrideIn } from '../proxy/overrides.ts';
import { type RequestTarget, readingsOf, readTarget } from '../proxy/request-target.ts';
import type { Binding } from './bindings.ts';

/** Credentials of the client, origin headers, and headers that would hide the credential in the answer. */
const dropped: ReadonlySet<string> = new Set([
  'a-im',
  'accept-charset',
  'accept-encoding',
  'api-key',
  'authorization',
  'cookie',
  'forwarded',
  'if-range',
  'range',
  'request-range',
  'via',
  'x-api-key',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-forwarded-server',
  'x-goog-api-key',
  'x-host',
  'x-http-host-override',
  'x-ms-range',
  'x-original-host',
  'x-range',
  'x-real-ip',
]);
const droppedQueries = ['key', 'api_key', 'access_token'];

export interface BoundRequest {
  readonly request: Request;
  readonly sent: RequestMessage;
  /** Read by some servers as another method or path. */
  readonly override: string | undefined;
}

export function readBoundRequest(
  binding: Binding,
  message: IncomingMessage,
): BoundRequest | { readonly status: 400 | 404; readonly problem: string } {
  const sent = readRequestMessage(message);
  if ('problem' in sent) return { status: 400, problem: sent.problem };
  const target = readTarget(message.url ?? '');
  if ('problem' in target || !isBelow(binding, target.path))
    return { status: 404, problem: `${binding.name} has no such path` };
  const { upstream } = binding;
  const port = upstream.port === '' ? (upstream.protocol === 'https:' ? 443 : 80) : Number(upstream.port);
  const host = hostOf(upstream.hostname) ?? upstream.hostname;
  const http = { method: sent.method, path: withoutKeys(target, binding.query) };
  return { request: { host, port, http }, sent, override: overrideIn(sent.fields, target) };
}

/** Why a binding with exactly this upstream would not send a call of it as it is written; undefined: it would. */
export function lossOf(upstream: URL): string | undefined {
  const target = readTarget(upstream.pathname + upstream.search);
  if ('problem' in target) return target.problem;
  if (hidesPath.test(target.path)) return 'its path has a backslash or an escaped dot';
  const override = overrideIn([], target);
  if (override !== undefined) return `${override} names another method or path`;
  const key = target.query?.split('&').find((pair) => isKey(pair, undefined));
  return key === undefined ? undefined : `its parameter ${headerNameOf(key)} would not be sent`;
}

const hidesPath = /(^|\/)\.{1,2}(\/|$)|\\|%2e|%5c/i;

/** It is the upstream's own path, or below that in every reading. */
function isBelow({ upstream }: Binding, path: string): boolean {
  const base = upstream.pathname.replace(/\/$/, '');
  if (hidesPath.test(path)) return false;
  if (path === upstream.pathname) return true;
  const readings = readingsOf(path);
  return readings !== undefined && [...readings].every((one) => one === base || one.startsWith(`${base}/`));
}

/** Includes the credential, if there is one. */
export function boundMessage(binding: Binding, { request, sent }: BoundRequest, secret: string | undefined) {
  const { upstream, query } = binding;
  const credential: Fields = secret === undefined || query !== undefined ? [] : [binding.header(secret)];
  const own = query === undefined ? [fieldName(binding.header('')[0])] : [];
  const fields = sent.fields.filter(
    ([name]) => !dropped.has(fieldName(name)) && !own.includes(fieldName(name)),
  );
  return writtenAs(sent, {
    path: pathWith(binding, request.http?.path ?? '/', secret),
    host: upstream.host,
    fields: [...fields, ['Accept-Encoding', 'identity'], ...credential],
    // Nothing is sent after a body: a server that reads the body as a request would add the next credential to it.
    after: sent.framing.kind === 'none' ? 'keep-alive' : 'close',
  });
}

/** Some services take their key in the query. It is added last, where the client can append nothing. */
function pathWith({ query }: Binding, path: string, secret: string | undefined): string {
  if (query === undefined || secret === undefined) return path;
  return `${path}${path.includes('?') ? '&' : '?'}${query}=${encodeURIComponent(secret)}`;
}

function withoutKeys({ path, query }: RequestTarget, own: string | undefined): string {
  if (query === undefined) return path;
  return `${path}?${query
    .split('&')
    .filter((pair) => !isKey(pair, own))
    .join('&')}`;
}

/** Some servers split at semicolons, so a pair with a key behind a semicolon is dropped entirely. */
function isKey(pair: string, own: string | undefined): boolean {
  const names = new Set([...droppedQueries, ...(own === undefined ? [] : [own.toLowerCase()])]);
  return pair.split(';').some((part) => names.has(headerNameOf(part).toLowerCase()));
}
