import {
  type AgentOptions,
  type ClientRequest,
  createServer,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Duplex } from 'node:stream';
import { GeodeError } from '../core/errors.ts';
import { spellingsOf } from '../core/secret-shapes.ts';
import type { Binding } from './bindings.ts';
import type { Broker } from './broker.ts';
import { CredentialFilter, coverText } from './credential-filter.ts';
import { answeringHalfOpen } from './half-open.ts';
import { endToEnd, pairsOf } from './headers.ts';
import { hostOf } from './host-name.ts';
import type { UpstreamTls } from './inspection/upstream-tls.ts';
import { matchesHttp, type Request } from './policy.ts';
import { pin, type Resolve } from './resolve.ts';
import type { UsageRecord } from './usage.ts';
import { UsageMeter } from './usage-meter.ts';

const mostRequestBytes = 64 * 1024 ** 2;
const mostAtOnce = 64;
const silenceMs = 600_000;
/** Connections to an upstream are kept for the next call, for less time than servers keep them. */
const kept: AgentOptions = { keepAlive: true, maxFreeSockets: 8, timeout: 4_000 };
/** What a client may send as a credential, and what would hide one in the answer. */
const dropped = [
  'host',
  'expect',
  'authorization',
  'x-api-key',
  'x-goog-api-key',
  'api-key',
  'cookie',
  'accept-encoding',
  'x-forwarded-for',
  'forwarded',
];
const droppedQueries = ['key', 'api_key', 'access_token'];

export interface BindingServerOptions {
  readonly broker: Broker;
  readonly binding: Binding;
  /** Asked for each call, so that a changed secret holds at once; undefined where none is needed. */
  readonly secret: () => string | undefined;
  readonly resolve: Resolve;
  readonly upstreamTls: UpstreamTls;
  /** Why no call may be made now. */
  readonly refusal: () => string | undefined;
  readonly onUsage: (usage: Omit<UsageRecord, 'user' | 'sandboxId'>) => void;
}

/** The local URL of one binding: requests go to its upstream with the real credential, and to nowhere else. */
export class BindingServer implements Disposable {
  readonly #options: BindingServerOptions;
  readonly #server: Server;
  /** Of this binding alone. A connection was checked when it was dialled, and leads to the same address until it ends. */
  readonly #agent: HttpAgent;
  #active = 0;

  constructor(options: BindingServerOptions) {
    this.#options = options;
    const isSecure = options.binding.upstream.protocol === 'https:';
    this.#agent = isSecure ? new HttpsAgent(kept) : new HttpAgent(kept);
    this.#server = answeringHalfOpen(
      createServer({
        maxHeaderSize: 32 * 1024,
        requestTimeout: 0,
        insecureHTTPParser: false,
        shouldUpgradeCallback: () => false,
      }),
    );
    this.#server.on('request', (request, response) => this.#forward(request, response));
    this.#server.on('connect', (_, socket) => socket.destroy());
    this.#server.on('upgrade', (_, socket) => socket.destroy());
    this.#server.on('clientError', (_, socket) => socket.destroy());
  }

  accept(client: Duplex): void {
    client.on('error', () => {});
    this.#server.emit('connection', client);
    client.resume();
  }

  [Symbol.dispose](): void {
    this.#server.closeAllConnections();
    this.#agent.destroy();
  }

  #forward(message: IncomingMessage, response: ServerResponse): void {
    const { binding } = this.#options;
    const asked = this.#read(message);
    const secret = this.#options.secret();
    const refused = (asked && this.#unwanted(asked)) ?? this.#refusal(secret);
    if (asked === undefined) this.#refuse(message, response, 404, `${binding.name} has no such path`);
    else if (refused !== undefined) this.#refuse(message, response, ...refused);
    else this.#call(message, response, asked, secret);
  }

  /** A deny rule wins over a binding too. */
  #unwanted(asked: Request): readonly [status: number, why: string] | undefined {
    const { binding, broker } = this.#options;
    const rule = `bind ${binding.name}`;
    const decision = broker.decide(asked);
    const isDenied = !decision.allowed && decision.rule.startsWith('deny ');
    if (!isDenied && matchesHttp(binding.only, asked.http)) return undefined;
    const reason = isDenied
      ? decision.reason
      : `the binding ${binding.name} does not allow ${asked.http?.method} of this path`;
    broker.deny(asked, 'binding', { allowed: false, rule: isDenied ? decision.rule : rule, reason });
    return [403, reason];
  }

  #refusal(secret: string | undefined): readonly [status: number, why: string] | undefined {
    const { binding, refusal } = this.#options;
    if (secret === undefined && binding.secret !== null)
      return [403, `the secret ${binding.secret} is missing; geode secrets set ${binding.secret}`];
    if (this.#active >= mostAtOnce) return [503, `more than ${mostAtOnce} calls at once`];
    const spent = binding.metered ? refusal() : undefined;
    // Not 401: some clients try again for minutes.
    return spent === undefined ? undefined : [402, spent];
  }

  #call(
    message: IncomingMessage,
    response: ServerResponse,
    asked: Request,
    secret: string | undefined,
  ): void {
    const { broker, binding, onUsage } = this.#options;
    const startedAt = Date.now();
    const credentials = secret === undefined ? [] : credentialsOf(binding, secret);
    const upstream = this.#request(message, asked, secret);
    const counted = { bytesOut: 0, bytesIn: 0 };
    let status: number | null = null;
    let meter: UsageMeter | undefined;
    this.#active += 1;
    upstream.once('close', () => {
      this.#active -= 1;
      const rule = `bind ${binding.name}`;
      const verdict = status === null ? 'failed' : 'allowed';
      broker.audit({ request: asked, via: 'binding', rule, verdict, status, ...counted, startedAt });
      if (meter === undefined) return;
      const tokens = meter.end(counted.bytesOut, counted.bytesIn);
      onUsage({ binding: binding.name, model: meter.model, ...tokens });
    });
    upstream.on('timeout', () => upstream.destroy(new Error('the upstream is silent')));
    upstream.on('error', (error) =>
      this.#refuse(message, response, 502, coverText(error.message, credentials)),
    );
    upstream.on('response', (answer) => {
      status = answer.statusCode ?? 502;
      if ((answer.headers['content-encoding'] ?? 'identity') !== 'identity') {
        upstream.destroy(new Error('the answer is compressed and cannot be searched for the credential'));
        return;
      }
      if (binding.metered && status >= 200 && status < 300 && message.method === 'POST')
        meter = new UsageMeter(answer.headers['content-type'] ?? '');
      response.writeHead(
        status,
        coverText(answer.statusMessage ?? '', credentials),
        coveredHeaders(answer, credentials),
      );
      response.flushHeaders();
      answer.on('data', (chunk: Buffer) => {
        counted.bytesIn += chunk.length;
        meter?.write(chunk);
      });
      answer.on('error', () => response.destroy());
      answer.pipe(new CredentialFilter(credentials)).pipe(response);
    });
    message.on('data', (chunk: Buffer) => {
      counted.bytesOut += chunk.length;
      if (counted.bytesOut > mostRequestBytes)
        upstream.destroy(new Error(`the request has more than ${mostRequestBytes} bytes`));
    });
    message.on('error', () => upstream.destroy());
    response.on('close', () => upstream.destroy());
    message.pipe(upstream);
  }

  #request(message: IncomingMessage, { port, http }: Request, secret: string | undefined): ClientRequest {
    const { binding, upstreamTls } = this.#options;
    const { protocol, hostname } = binding.upstream;
    const isSecure = protocol === 'https:';
    return (isSecure ? httpsRequest : httpRequest)({
      ...(isSecure && { secureContext: upstreamTls.context }),
      method: message.method ?? 'GET',
      host: hostname.replace(/^\[|\]$/g, ''),
      port,
      path: pathWith(binding, http?.path ?? '/', secret),
      headers: this.#headers(message, secret),
      setHost: false,
      agent: this.#agent,
      lookup: this.#lookup(),
      timeout: silenceMs,
    });
  }

  /** Undefined for a path that is not below the upstream's own. */
  #read(message: IncomingMessage): Request | undefined {
    const { binding } = this.#options;
    const { upstream } = binding;
    const [path = '', query] = (message.url ?? '').split('?', 2);
    const base = upstream.pathname.replace(/\/$/, '');
    if (!path.startsWith(`${base}/`) && path !== base) return undefined;
    if (/(^|\/)\.{1,2}(\/|$)|\\|%2e|%2f|%5c|[^\x21-\x7e]/i.test(path)) return undefined;
    const port = upstream.port === '' ? (upstream.protocol === 'https:' ? 443 : 80) : Number(upstream.port);
    const host = hostOf(upstream.hostname) ?? upstream.hostname;
    const whole = `${path || '/'}${query === undefined ? '' : `?${withoutKeys(query, binding.query)}`}`;
    return { host, port, http: { method: message.method ?? 'GET', path: whole } };
  }

  #headers(message: IncomingMessage, secret: string | undefined): string[] {
    const { binding } = this.#options;
    const framed = message.headers['transfer-encoding'] === undefined ? [] : ['Transfer-Encoding', 'chunked'];
    const own = binding.query === undefined ? [binding.header('')[0]] : [];
    return [
      'Host',
      binding.upstream.host,
      ...endToEnd(message.rawHeaders, [...dropped, ...own.map((word) => word.toLowerCase())]),
      'Accept-Encoding',
      'identity',
      ...(secret === undefined || binding.query !== undefined ? [] : binding.header(secret)),
      ...framed,
      'Connection',
      'keep-alive',
    ];
  }

  /** The addresses that are dialled are those that were checked. */
  #lookup(): LookupFunction {
    const { binding, resolve } = this.#options;
    return (hostname, options, callback) => {
      const decision = { allowed: true, rule: '', private: binding.isOwnUpstream } as const;
      pin(hostname, decision, resolve).then(
        (pinned) => {
          if (!('addresses' in pinned)) {
            const why =
              'failed' in pinned
                ? pinned.failed
                : `${hostname} leads to ${pinned.address}, which is not public`;
            return callback(new Error(why), '', 0);
          }
          const all = pinned.addresses.map((address) => ({ address, family: isIP(address) }));
          if (options.all) return callback(null, all);
          callback(null, all[0]?.address ?? '', all[0]?.family ?? 4);
        },
        (error) => callback(error, '', 0),
      );
    };
  }

  /** In the shape that clients of models read. */
  #refuse(message: IncomingMessage, response: ServerResponse, status: number, why: string): void {
    message.resume();
    if (response.headersSent || response.destroyed) return void response.destroy();
    const type = status === 402 ? 'budget_spent' : status === 403 ? 'permission_error' : 'api_error';
    const body = JSON.stringify({ type: 'error', error: { type, code: type, message: `Geode: ${why}` } });
    response.writeHead(status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    });
    response.end(body);
  }
}

export function missingSecret(name: string, secret = name): GeodeError {
  return new GeodeError(
    'secret_missing',
    `The binding ${name} needs the secret ${secret}, which is not set.`,
    {
      hint: `Set it first: geode secrets set ${secret} < FILE`,
    },
  );
}

/** As it is, as it stands in the header, and in the encodings of JSON, URLs and base64: an echo may send back any. */
function credentialsOf({ header }: Binding, secret: string): readonly string[] {
  const [, value] = header(secret);
  return spellingsOf([value.replace(/^(Bearer|Basic) /, ''), secret]);
}

function coveredHeaders({ rawHeaders }: IncomingMessage, credentials: readonly string[]): string[] {
  return pairsOf(endToEnd(rawHeaders, ['set-cookie'])).flatMap(([name, value]) => [
    name,
    coverText(value, credentials),
  ]);
}

/** Some services take their key in the query; it is added last, where nothing of the client can follow. */
function pathWith({ query }: Binding, path: string, secret: string | undefined): string {
  if (query === undefined || secret === undefined) return path;
  return `${path}${path.includes('?') ? '&' : '?'}${query}=${encodeURIComponent(secret)}`;
}

function withoutKeys(query: string, own: string | undefined): string {
  const names = new Set([...droppedQueries, ...(own === undefined ? [] : [own.toLowerCase()])]);
  const nameOf = (pair: string) => decoded(pair.split('=', 1)[0] ?? '').toLowerCase();
  return query
    .split('&')
    .filter((pair) => !names.has(nameOf(pair)))
    .join('&');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}
