import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { targetOf } from '../../contract/host-name.ts';
import type { EgressTarget } from '../../seams/egress.ts';
import { Inspector, type InspectorOptions } from '../inspection/inspector.ts';
import type { UpstreamTls } from '../inspection/upstream-tls.ts';
import type { Request } from '../policy/policy.ts';
import type { Broker, Via } from './broker.ts';
import { answeringHalfOpen } from './half-open.ts';
import { type Exchange, forward } from './http-exchange.ts';
import { type ProxyRequest, readRequest } from './http-request.ts';
import { forwardUpgrade } from './http-upgrade.ts';
import { answerRefused, answerRefusedOn, failure, type Refusal } from './refusal.ts';
import { carry } from './tunnel.ts';

/** Limits for the headers of a sandbox's request. */
const mostHeaderBytes = 32 * 1024;
const headersMs = 30_000;
const keepAliveMs = 60_000;

export interface InspectionParts extends Pick<InspectorOptions, 'authority' | 'bound'> {
  readonly upstreamTls: UpstreamTls;
  readonly tape?: Exchange['tape'];
}

/**
 * The HTTP proxy of one sandbox: `GET http://host/path` and `CONNECT host:port`. Node's parser reads the request and
 * a new message is written from it, so two readers can never see different requests. Each request of a connection is
 * checked separately.
 */
export class HttpProxy implements Disposable {
  readonly #broker: Broker;
  readonly #server: Server;
  /** Plain HTTP inside a tunnel always goes to the tunnel's target. */
  readonly #inside = new WeakMap<Duplex, Request>();
  readonly #exchange: Exchange;
  readonly #inspector: Inspector;

  constructor(broker: Broker, { upstreamTls, authority, bound, tape }: InspectionParts) {
    this.#broker = broker;
    this.#exchange = { broker, upstreamTls, tape };
    this.#inspector = new Inspector({
      broker,
      authority,
      bound,
      accept: (client, request) => this.accept(client, request),
    });
    this.#server = answeringHalfOpen(
      createServer({
        maxHeaderSize: mostHeaderBytes,
        headersTimeout: headersMs,
        requestTimeout: 0,
        keepAliveTimeout: keepAliveMs,
        insecureHTTPParser: false,
        // The URL of the request decides, not this header.
        requireHostHeader: false,
        joinDuplicateHeaders: false,
        shouldUpgradeCallback: isForWebSocket,
      }),
    );
    this.#server.on('request', (request, response) => void this.#forward(request, response));
    this.#server.on('connect', (request, socket, head) => void this.#connect(request, socket, head));
    this.#server.on('upgrade', (request, socket, head) => void this.#upgrade(request, socket, head));
    this.#server.on('clientError', (error, socket) => {
      const why = failure(`the request cannot be read (${error.message})`, 400);
      if (socket.writable) answerRefusedOn(socket, why);
      else socket.destroy();
    });
  }

  /** A connection from the sandbox; `inside` is the tunnel's target if it comes through one. */
  accept(client: Duplex, inside?: Request): void {
    if (inside !== undefined) this.#inside.set(client, inside);
    client.on('error', () => {});
    this.#server.emit('connection', client);
    client.resume();
  }

  /** How to handle a connection that is to be decrypted; undefined for all others. */
  inspection(
    target: EgressTarget,
    client: Duplex,
    via: Via,
  ): { readonly refused: Refusal } | { readonly serve: () => Promise<void> } | undefined {
    if (!this.#inspector.concerns(target)) return undefined;
    const decision = this.#inspector.admits(target);
    if (decision !== undefined) return { refused: this.#broker.deny(target, via, decision) };
    return { serve: () => this.#inspector.serve(client, target, via) };
  }

  [Symbol.dispose](): void {
    this.#server.closeAllConnections();
  }

  async #forward(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = this.#read(message);
    if ('status' in asked) return answerRefused(response, asked);
    await forward(this.#exchange, asked, message, response);
  }

  async #connect(message: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    client.on('error', () => {});
    if (head.length > 0) client.unshift(head);
    if (this.#inside.has(client)) {
      return answerRefusedOn(client, failure('CONNECT inside a CONNECT is not possible', 400));
    }
    const target = targetOf(message.url ?? '');
    if (target === undefined) return answerRefusedOn(client, failure('CONNECT needs host:port', 400));
    const inspection = this.inspection(target, client, 'connect');
    if (inspection !== undefined) {
      if ('refused' in inspection) return answerRefusedOn(client, inspection.refused);
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      return inspection.serve();
    }
    // A rule for some methods or paths: the tunnel opens for plain HTTP, and each request in it is checked.
    if (!this.#broker.decide(target).allowed && this.#isForHttp(target)) {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      return this.accept(client, target);
    }
    const passage = await this.#broker.pass(target, 'connect', client);
    if (!('socket' in passage)) return answerRefusedOn(client, passage);
    if (client.destroyed) return void passage.socket.destroy();
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    await carry(this.#broker, target, passage, client, {
      via: 'connect',
      toHttp: (inner) => this.accept(inner, target),
    });
  }

  #isForHttp({ host, port }: EgressTarget): boolean {
    return this.#broker.policy.allow.some(
      ({ methods = ['GET'], paths = ['/'] }) =>
        this.#broker.decide({
          host,
          port,
          http: { method: methods[0] ?? 'GET', path: (paths[0] ?? '/').replace(/\*$/, '') },
        }).allowed,
    );
  }

  async #upgrade(message: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    client.on('error', () => {});
    if (!isForWebSocket(message))
      return answerRefusedOn(client, failure('only a WebSocket may take over a connection', 400));
    const asked = this.#read(message);
    if ('status' in asked) return answerRefusedOn(client, asked);
    await forwardUpgrade(this.#exchange, asked, client, head);
  }

  #read(message: IncomingMessage): ProxyRequest | Refusal {
    return readRequest(message, this.#inside.get(message.socket), this.#broker);
  }
}

/**
 * A server that switches to another protocol than WebSocket (h2c, TLS) would receive unchecked requests. For other
 * protocols the message is sent as an ordinary request, without the offer to switch.
 */
function isForWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}
