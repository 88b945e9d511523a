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
import { GeodeError } from '../../base/errors.ts';
import type { Span } from '../../base/spans.ts';
import { recordedHost, type Tape } from '../../seams/tapes.ts';
import type { UsageRecord } from '../audit/usage.ts';
import { UsageMeter } from '../audit/usage-meter.ts';
import type { UpstreamTls } from '../inspection/upstream-tls.ts';
import { allowsHttp } from '../policy/path-rules.ts';
import { judgesRequests } from '../policy/policy.ts';
import type { Broker } from '../proxy/broker.ts';
import { answeringHalfOpen } from '../proxy/half-open.ts';
import { answerFields, sendBody } from '../proxy/http-message.ts';
import { answerRefusedOn, failure } from '../proxy/refusal.ts';
import { pin, type Resolve } from '../proxy/resolve.ts';
import { playAnswer, RequestHead, recordAnswer } from '../taped-calls.ts';
import { credentialsOf, readBoundAnswer } from './binding-answer.ts';
import { type BoundRequest, boundMessage, readBoundRequest } from './binding-request.ts';
import type { Binding } from './bindings.ts';
import { CredentialFilter, coverText } from './credential-filter.ts';
import { modelSpan } from './model-span.ts';

const mostRequestBytes = 64 * 1024 ** 2;
const mostAtOnce = 64;
const silenceMs = 600_000;
/** Idle connections to an upstream are kept for a shorter time than servers keep them. */
const kept: AgentOptions = { keepAlive: true, maxFreeSockets: 8, timeout: 4_000 };
export interface BindingServerOptions {
  readonly broker: Broker;
  readonly binding: Binding;
  /** Read for each call, so a changed secret applies at once; undefined if none is needed. */
  readonly secret: () => string | undefined;
  readonly resolve: Resolve;
  readonly upstreamTls: UpstreamTls;
  /** Why no call may be made now; undefined if calls are allowed. */
  readonly refusal: () => string | undefined;
  readonly onUsage: (usage: Omit<UsageRecord, 'user' | 'sandboxId'>) => void;
  /** The span that calls of models belong to. */
  readonly span?: () => Span | undefined;
  /** Records the calls of the sandbox, or answers them in a copy of it. */
  readonly tape?: () => Tape | undefined;
}

/** The local URL of one binding. Requests go to its upstream with the real credential, and nowhere else. */
export class BindingServer implements Disposable {
  readonly #options: BindingServerOptions;
  readonly #server: Server;
  /** Connections of this binding only. Each was checked when it was dialled and keeps its address until it ends. */
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
    this.#server.on('clientError', (error, socket) => {
      if (socket.writable)
        answerRefusedOn(socket, failure(`the request cannot be read (${error.message})`, 400));
      else socket.destroy();
    });
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
    const bound = readBoundRequest(this.#options.binding, message);
    if ('problem' in bound) return void this.#refuse(message, response, bound.status, bound.problem);
    if (this.#options.binding.upstream.hostname === recordedHost)
      return void this.#play(message, response, bound);
    const secret = this.#options.secret();
    const refused = this.#unwanted(bound) ?? this.#refusal(secret);
    if (refused !== undefined) return void this.#refuse(message, response, ...refused);
    this.#call(message, response, bound, secret);
  }

  async #play(message: IncomingMessage, response: ServerResponse, bound: BoundRequest): Promise<void> {
    const { binding, tape } = this.#options;
    const played = playAnswer(tape?.(), binding, bound, message, response);
    if ((await played.catch(() => 'no-answer')) === 'no-answer')
      this.#refuse(
        message,
        response,
        403,
        `this replay has no recorded answer for this call to ${binding.name}`,
      );
  }

  /** Deny rules also apply to bindings. */
  #unwanted({ request, override }: BoundRequest): readonly [status: number, why: string] | undefined {
    const { binding, broker } = this.#options;
    const rule = `bind ${binding.name}`;
    const refuse = (named: string, reason: string) => {
      broker.deny(request, 'binding', { allowed: false, rule: named, reason });
      return [403, reason] as const;
    };
    const decision = broker.decide(request);
    if (!decision.allowed && decision.rule.startsWith('deny ')) return refuse(decision.rule, decision.reason);
    if (!allowsHttp(binding.only, request.http))
      return refuse(rule, `the binding ${binding.name} does not allow ${request.http?.method} of this path`);
    const { methods, paths } = binding.only;
    const isJudged = methods !== undefined || paths !== undefined || judgesRequests(broker.policy, request);
    if (!isJudged || override === undefined) return undefined;
    return refuse(
      rule,
      `${override} names another method or path than the request, and ${binding.name} checks these`,
    );
  }

  #refusal(secret: string | undefined): readonly [status: number, why: string] | undefined {
    const { binding, refusal } = this.#options;
    if (secret === undefined && binding.secret !== null)
      return [403, `the secret ${binding.secret} is missing; geode secrets set ${binding.secret}`];
    if (this.#active >= mostAtOnce) return [503, `more than ${mostAtOnce} calls at once`];
    const spent = binding.metered ? refusal() : undefined;
    // Not 401, because some clients retry that for minutes.
    return spent === undefined ? undefined : [402, spent];
  }

  #call(
    message: IncomingMessage,
    response: ServerResponse,
    bound: BoundRequest,
    secret: string | undefined,
  ): void {
    const { broker, binding, onUsage } = this.#options;
    const { request, sent } = bound;
    const startedAt = Date.now();
    const credentials = credentialsOf(binding, secret);
    const upstream = this.#request(bound, secret);
    const counted = { bytesOut: 0, bytesIn: 0 };
    let status: number | null = null;
    let meter: UsageMeter | undefined;
    const tape = this.#options.tape?.();
    const head = new RequestHead();
    const span =
      binding.metered && sent.method === 'POST' ? modelSpan(binding, this.#options.span?.()) : undefined;
    this.#active += 1;
    upstream.once('close', () => {
      this.#active -= 1;
      const rule = `bind ${binding.name}`;
      const verdict = status === null ? 'failed' : 'allowed';
      broker.audit({ request, via: 'binding', rule, verdict, status, ...counted, startedAt });
      span?.set({ 'http.response.status_code': status });
      if (status === null || status >= 400) span?.fail(`${status ?? 'unreachable'}`);
      if (meter === undefined) return span?.end();
      const tokens = meter.end(counted.bytesOut, counted.bytesIn);
      span?.set({
        'gen_ai.response.model': meter.model,
        'gen_ai.usage.input_tokens': tokens.inputTokens,
        'gen_ai.usage.output_tokens': tokens.outputTokens,
      });
      span?.end();
      onUsage({ binding: binding.name, model: meter.model, ...tokens });
    });
    upstream.on('timeout', () => upstream.destroy(new Error('the upstream is silent')));
    upstream.on('error', (error) =>
      this.#refuse(message, response, 502, coverText(error.message, credentials)),
    );
    upstream.on('upgrade', () => upstream.destroy(new Error('the upstream changes the protocol')));
    upstream.on('response', (received) => {
      status = received.statusCode ?? 502;
      const answer = readBoundAnswer(received, sent.method, credentials);
      if ('problem' in answer) return void upstream.destroy(new Error(answer.problem));
      if (binding.metered && status >= 200 && status < 300 && sent.method === 'POST')
        meter = new UsageMeter(received.headers['content-type'] ?? '');
      const fields = answerFields(answer, answer.fields);
      response.writeHead(answer.status, answer.reason, fields);
      response.flushHeaders();
      received.on('data', (chunk: Buffer) => {
        counted.bytesIn += chunk.length;
        meter?.write(chunk);
      });
      received.on('error', () => response.destroy());
      const filtered = received.pipe(new CredentialFilter(credentials));
      if (tape?.record !== undefined) {
        const { status: code, reason } = answer;
        recordAnswer(tape, () => head.of(binding, bound), { status: code, reason, fields }, filtered);
      }
      filtered.pipe(response);
    });
    message.on('data', (chunk: Buffer) => {
      counted.bytesOut += chunk.length;
      if (tape?.record !== undefined) head.write(chunk);
      if (counted.bytesOut > mostRequestBytes)
        upstream.destroy(new Error(`the request has more than ${mostRequestBytes} bytes`));
    });
    message.on('error', () => upstream.destroy());
    response.on('close', () => upstream.destroy());
    sendBody(message, sent, upstream);
  }

  #request(bound: BoundRequest, secret: string | undefined): ClientRequest {
    const { binding, upstreamTls } = this.#options;
    const { protocol, hostname } = binding.upstream;
    const isSecure = protocol === 'https:';
    return (isSecure ? httpsRequest : httpRequest)({
      ...(isSecure && { secureContext: upstreamTls.context }),
      ...boundMessage(binding, bound, secret),
      host: hostname.replace(/^\[|\]$/g, ''),
      port: bound.request.port,
      agent: this.#agent,
      lookup: this.#lookup(bound),
      timeout: silenceMs,
    });
  }

  /** Dial exactly the checked addresses. */
  #lookup({ request }: BoundRequest): LookupFunction {
    const { binding, broker, resolve } = this.#options;
    return (hostname, options, callback) => {
      const decision = { allowed: true, rule: '', private: binding.isOwnUpstream } as const;
      pin(hostname, decision, resolve).then(
        (pinned) => {
          if (!('addresses' in pinned)) {
            const why =
              'failed' in pinned
                ? pinned.failed
                : `${hostname} resolves to ${pinned.address}, which is not public`;
            return callback(new Error(why), '', 0);
          }
          const denied = broker.denialOf(request, pinned.addresses);
          if (denied !== undefined) return callback(new Error(denied.reason), '', 0);
          const all = pinned.addresses.map((address) => ({ address, family: isIP(address) }));
          if (options.all) return callback(null, all);
          callback(null, all[0]?.address ?? '', all[0]?.family ?? 4);
        },
        (error) => callback(error, '', 0),
      );
    };
  }

  /** In the error format that clients of models read. */
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
