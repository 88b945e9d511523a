/**
 * The two forms of a preview. With its own host name, its pages have their own origin and cookies. With a path, for
 * places where such names do not work, browsers would treat the pages as part of the API's site: so every answer has
 * a sandbox policy, which gives it an opaque origin, and no cookies pass.
 */
import type { IncomingMessage } from 'node:http';
import { fieldName } from '../egress/proxy/http-message.ts';
import { ownCookie, withoutToken } from './token.ts';

type Pair = readonly [name: string, value: string];

/** How a request and its answer are changed. */
export interface Form {
  /** The URL that the server in the sandbox gets. */
  readonly url: string;
  /** The host that the server in the sandbox gets; default: the one of the request. */
  readonly host?: string;
  /** Headers added to every request. */
  readonly asked: readonly Pair[];
  request(pair: Pair): readonly Pair[];
  answer(pair: Pair): readonly Pair[];
  /** Headers added to every answer. */
  readonly added: readonly Pair[];
}

/** It would clear the cookies of the whole site, including the API's. */
const clearing = 'clear-site-data';

export function nameForm({ url = '/' }: IncomingMessage): Form {
  return {
    url,
    asked: [],
    added: [],
    request([name, value]) {
      if (name.toLowerCase() !== 'cookie') return [[name, value]];
      const given = withoutToken(value);
      return given === '' ? [] : [[name, given]];
    },
    answer([name, value]) {
      if (name.toLowerCase() === clearing) return [];
      const given = name.toLowerCase() === 'set-cookie' ? ownCookie(value) : value;
      return given === undefined ? [] : [[name, given]];
    },
  };
}

/** Everything except `allow-same-origin` and popups that escape the sandbox. */
const sandbox =
  'sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads allow-pointer-lock allow-presentation';
/** Cookies of the site, and the token in the path. */
const droppedAsked: ReadonlySet<string> = new Set(['cookie', 'referer', 'x-forwarded-prefix']);
const dropped: ReadonlySet<string> = new Set([
  'set-cookie',
  clearing,
  'referrer-policy',
  'service-worker-allowed',
  'access-control-allow-origin',
  'access-control-allow-credentials',
]);

/** `prefix` is `/p/NAME/TOKEN`, and `rest` the remaining path. */
export function pathForm({ headers }: IncomingMessage, prefix: string, rest: string): Form {
  const own = `http://${headers.host ?? ''}/`;
  return {
    url: rest,
    asked: [['X-Forwarded-Prefix', prefix]],
    // The path contains the token, so it must not appear in a Referer; its own pages may read the answers to their
    // scripts.
    added: [
      ['Content-Security-Policy', sandbox],
      ['Referrer-Policy', 'no-referrer'],
      ['Access-Control-Allow-Origin', opaque],
    ],
    request([name, value]) {
      return droppedAsked.has(fieldName(name)) ? [] : [[name, value]];
    },
    answer([name, value]) {
      const lower = name.toLowerCase();
      if (dropped.has(lower)) return [];
      if (lower !== 'location') return [[name, value]];
      const path = value.startsWith(own) ? value.slice(own.length - 1) : value;
      return [[name, /^\/(?!\/)/.test(path) ? `${prefix}${path}` : value]];
    },
  };
}

/** The Origin header of every sandboxed page. */
const opaque = 'null';

/** A page of the path form calls from an opaque origin; any other origin is a stranger. */
export function isOwnOrigin({ headers: { origin, host } }: IncomingMessage): boolean {
  return origin === undefined || origin === opaque || origin === `http://${host}`;
}

/** The parts of `/p/NAME/TOKEN/REST`; undefined for all other paths. */
export function pathParts({ url = '' }: IncomingMessage) {
  const parts = /^(\/p\/([0-9a-f-]{1,64})\/([0-9a-f]{1,64}))(\/.*)?$/s.exec(url);
  const [, prefix = '', name = '', token = '', rest] = parts ?? [];
  return parts === null ? undefined : { prefix, name, token, rest };
}

/** A browser's preflight request. It is allowed, because it has the token. */
export function preflightAnswer({ method, headers }: IncomingMessage): Record<string, string> | undefined {
  const asked = headers['access-control-request-method'];
  if (method !== 'OPTIONS' || asked === undefined) return undefined;
  return {
    'access-control-allow-origin': opaque,
    'access-control-allow-methods': asked,
    'access-control-allow-headers': headers['access-control-request-headers'] ?? '*',
    'access-control-max-age': '600',
  };
}
