/** Where a request of the proxy leads, and the message that is written anew from it. */
import type { IncomingMessage } from 'node:http';
import type { Broker, Via } from './broker.ts';
import { endToEnd } from './headers.ts';
import { hostOf, shownTarget, targetOf } from './host-name.ts';
import type { Request } from './policy.ts';
import { failure, type Refusal } from './refusal.ts';

/** Where a request leads, or why it is none. The URL decides; the Host header is written anew from it. */
export function readRequest(
  message: IncomingMessage,
  inside: Request | undefined,
  broker: Broker,
): Request | Refusal {
  const url = message.url ?? '';
  const method = message.method ?? '';
  if (inside !== undefined) return readInside(message, inside, broker);
  const parts = /^http:\/\/([^/?#@\\\s]+)([/?][^\s#]*)?$/i.exec(url);
  if (parts === null) {
    const why = /^https:/i.test(url)
      ? 'use CONNECT for https'
      : 'this is a proxy: the request needs a whole http:// URL';
    return failure(why, 400);
  }
  const [, authority = '', path = '/'] = parts;
  const target = targetOf(authority) ?? { host: hostOf(authority), port: 80 };
  if (target.host === undefined) return failure(`${authority.slice(0, 253)} is not a host`, 400);
  return {
    host: target.host,
    port: target.port,
    http: { method, path: path.startsWith('/') ? path : `/${path}` },
  };
}

/** A request in a tunnel goes where the tunnel goes, and nowhere else. */
function readInside(message: IncomingMessage, inside: Request, broker: Broker): Request | Refusal {
  const url = message.url ?? '';
  const named = message.headers.host ?? '';
  const host = targetOf(named) ?? { host: hostOf(named), port: inside.port };
  if (!url.startsWith('/')) return failure('a tunnel takes no other URL than a path', 400);
  if (host.host !== inside.host || host.port !== inside.port)
    return broker.deny(inside, viaOf(inside), {
      allowed: false,
      rule: 'host name',
      reason: `${shownTarget(inside)}: the request names the host ${JSON.stringify(named.slice(0, 253))} instead`,
    });
  return {
    host: inside.host,
    port: inside.port,
    http: { method: message.method ?? '', path: url },
    inside,
    ...(inside.inspected && { inspected: true }),
  };
}

export function viaOf({ inspected }: Request): Via {
  return inspected ? 'inspected' : 'http';
}

export function headersFor(message: IncomingMessage, { host, port, inspected }: Request): string[] {
  const usual = inspected ? /:443$/ : /:80$/;
  const name = shownTarget({ host, port }).replace(usual, '');
  const framed = message.headers['transfer-encoding'] === undefined ? [] : ['Transfer-Encoding', 'chunked'];
  return ['Host', name, ...endToEnd(message.rawHeaders, ['host', 'expect']), ...framed];
}

type Head = Pick<IncomingMessage, 'statusCode' | 'statusMessage' | 'rawHeaders'>;

export function headOf({ statusCode, statusMessage, rawHeaders }: Head): string {
  const lines = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [`${name}: ${rawHeaders[index + 1]}`] : [],
  );
  return `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${lines.join('\r\n')}\r\n\r\n`;
}
