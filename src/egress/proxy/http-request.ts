/** The target of a proxied request, and the message that is written for it. */
import type { IncomingMessage } from 'node:http';
import { hostOf, shownTarget, targetOf } from '../../contract/host-name.ts';
import { judgesRequests, type Request } from '../policy/policy.ts';
import type { Broker, Via } from './broker.ts';
import { type RequestMessage, readRequestMessage } from './http-message.ts';
import { overrideIn } from './overrides.ts';
import { failure, type Refusal } from './refusal.ts';
import { type RequestTarget, readTarget } from './request-target.ts';

/** A parsed request that may still be refused. */
export interface ProxyRequest {
  readonly request: Request;
  readonly sent: RequestMessage;
}

/** The target of a request, or the reason why it is invalid. The URL decides; the Host header is rebuilt from it. */
export function readRequest(
  message: IncomingMessage,
  inside: Request | undefined,
  broker: Broker,
): ProxyRequest | Refusal {
  const sent = readRequestMessage(message);
  if ('problem' in sent) return failure(sent.problem, 400);
  const led = inside === undefined ? readWhole(message) : readInside(message, inside, broker);
  if ('status' in led) return led;
  const { target, place } = led;
  const request: Request = { ...place, http: { method: sent.method, path: target.whole } };
  const override = judgesRequests(broker.policy, request) ? overrideIn(sent.fields, target) : undefined;
  if (override === undefined) return { request, sent };
  const reason = `${shownTarget(request)}: ${override} names another method or path than the request, and a rule checks these`;
  return broker.deny(request, viaOf(request), { allowed: false, rule: 'method and path', reason });
}

interface Led {
  readonly target: RequestTarget;
  readonly place: Request;
}

function readWhole({ url = '' }: IncomingMessage): Led | Refusal {
  const parts = /^http:\/\/([^/?#@\\\s]+)(.*)$/is.exec(url);
  if (parts === null) {
    const why = /^https:/i.test(url)
      ? 'use CONNECT for https'
      : 'this is a proxy: the request needs a full http:// URL';
    return failure(why, 400);
  }
  const [, authority = '', path = ''] = parts;
  const { host, port } = targetOf(authority) ?? { host: hostOf(authority), port: 80 };
  if (host === undefined) return failure(`${authority.slice(0, 253)} is not a host`, 400);
  const target = readTarget(path.startsWith('/') ? path : `/${path}`);
  return 'problem' in target ? failure(target.problem, 400) : { target, place: { host, port } };
}

/** A request in a tunnel always goes to the tunnel's target. */
function readInside(message: IncomingMessage, inside: Request, broker: Broker): Led | Refusal {
  const { url = '' } = message;
  const named = message.headers.host ?? '';
  const host = targetOf(named) ?? { host: hostOf(named), port: inside.port };
  if (!url.startsWith('/')) return failure('a tunnel takes no other URL than a path', 400);
  const target = readTarget(url);
  if ('problem' in target) return failure(target.problem, 400);
  if (host.host !== inside.host || host.port !== inside.port)
    return broker.deny(inside, viaOf(inside), {
      allowed: false,
      rule: 'host name',
      reason: `${shownTarget(inside)}: the request names the host ${JSON.stringify(named.slice(0, 253))} instead`,
    });
  const { host: name, port, inspected } = inside;
  return { target, place: { host: name, port, inside, ...(inspected && { inspected }) } };
}

export function viaOf({ inspected }: Request): Via {
  return inspected ? 'inspected' : 'http';
}

/** The Host header that the server of this request expects. */
export function hostHeader({ host, port, inspected }: Request): string {
  return shownTarget({ host, port }).replace(inspected ? /:443$/ : /:80$/, '');
}
