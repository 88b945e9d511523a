/** A binding for the host's own calls: the same rules as for a sandbox, without a hatch. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { type Duplex, duplexPair, Readable } from 'node:stream';
import type { AuditRecord, EgressOwner, EgressRule } from '../../seams/egress.ts';
import { Broker } from '../proxy/broker.ts';
import { BindingServer, type BindingServerOptions } from './binding-server.ts';

export interface HostBinding extends Disposable {
  /** Calls only the upstream, whatever host the URL names. Redirects are returned, not followed. */
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
}

export interface HostBindingOptions extends Omit<BindingServerOptions, 'broker'> {
  /** The caller's name for the audit. */
  readonly owner: EgressOwner;
  readonly denied: readonly EgressRule[];
  readonly audit: (record: AuditRecord) => void;
}

export function openHostBinding({ owner, denied, audit, ...options }: HostBindingOptions): HostBinding {
  const broker = new Broker({
    sandboxId: owner.sandboxId,
    user: owner.user,
    hatch: { note() {} },
    policy: { mode: 'allow-list', allow: [], deny: denied },
    ask: () => '',
    audit,
    resolve: options.resolve,
  });
  const server = new BindingServer({ ...options, broker });
  return {
    fetch(url, init = {}) {
      const [own, other] = duplexPair();
      server.accept(other);
      return fetchOver(own, new URL(url), init);
    },
    [Symbol.dispose]() {
      server[Symbol.dispose]();
      broker[Symbol.dispose]();
    },
  };
}

/** Sends one request over a stream. Only text bodies are supported. */
function fetchOver(
  stream: Duplex,
  { pathname, search }: URL,
  { method = 'GET', headers, body = null, signal }: RequestInit,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      createConnection: () => stream,
      method,
      path: pathname + search,
      headers: { ...Object.fromEntries(new Headers(headers)), connection: 'close' },
      ...(signal && { signal }),
    });
    request.once('error', reject);
    request.once('response', (answer) => resolve(responseOf(answer)));
    request.end(typeof body === 'string' ? body : undefined);
  });
}

function responseOf(answer: IncomingMessage): Response {
  const { statusCode: status = 502, rawHeaders } = answer;
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  const isEmpty = [204, 205, 304].includes(status);
  if (isEmpty) answer.resume();
  return new Response(isEmpty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>), {
    status,
    headers,
  });
}
