import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { shownTarget } from '../../contract/host-name.ts';
import type { EgressTarget } from '../../seams/egress.ts';
import { inspects, type Request } from '../policy/policy.ts';
import type { Broker, Via } from '../proxy/broker.ts';
import { readClientHello } from '../proxy/client-hello.ts';
import { firstBytesMs, isEnough, kindOf, objectionTo } from '../proxy/first-bytes.ts';
import { peek } from '../proxy/peek.ts';
import type { Authority } from './authority.ts';

const handshakeMs = 30_000;
/** "no application protocol", a fatal alert. */
const noProtocol = Buffer.from([21, 3, 1, 0, 2, 2, 120]);
const spoken = 'http/1.1';

/** Takes a connection whose requests can be read. */
type Accept = (client: Duplex, request: Request) => void;

export interface InspectorOptions {
  readonly broker: Broker;
  /** Called only before a connection is decrypted. */
  readonly authority: () => Authority;
  /** A binding that answers for this host itself. */
  readonly bound: (target: EgressTarget) => ((client: Duplex) => void) | undefined;
  readonly accept: Accept;
}

/** Decrypts the TLS of connections that a rule or a binding has to inspect. All others pass unchanged. */
export class Inspector {
  readonly #options: InspectorOptions;

  constructor(options: InspectorOptions) {
    this.#options = options;
  }

  concerns({ host, port }: EgressTarget): boolean {
    const { broker, bound } = this.#options;
    return inspects(broker.policy, { host, port }) || bound({ host, port }) !== undefined;
  }

  /** Whether any request inside could be allowed; each request is checked separately. */
  admits(target: EgressTarget) {
    const { broker, bound } = this.#options;
    const decision = broker.decide({ host: target.host, port: target.port, inspected: true });
    if (decision.allowed || decision.undecided) return undefined;
    const isDenied = decision.rule.startsWith('deny ');
    return bound(target) !== undefined && !isDenied ? undefined : decision;
  }

  /** Runs after the client got the answer that it is connected. Plain HTTP inside is checked as HTTP. */
  async serve(client: Duplex, { host, port }: EgressTarget, via: Via): Promise<void> {
    const { accept, bound } = this.#options;
    const request: Request = { host, port, inspected: true };
    client.on('error', () => {});
    const bytes = await peek(client, isEnough, firstBytesMs);
    if (bytes.length === 0 || client.destroyed) return void client.destroy();
    const kind = kindOf(bytes);
    if (kind === 'http') return accept(client, { host, port });
    const objection = kind === 'tls' ? this.#objection(request, bytes) : neither(request);
    if (objection !== undefined) {
      this.#refuse(request, via, objection.rule, objection.reason);
      return void client.end(objection.alert);
    }
    const opened = await this.#open(client, request, via);
    if (opened === undefined) return;
    const leave = this.#options.broker.enterTunnel(request, opened, client);
    opened.once('close', leave);
    const binding = bound(request);
    if (binding === undefined) accept(opened, request);
    else binding(opened);
  }

  /** The handshake with a certificate of the sandbox's own authority; undefined if the client rejects it. */
  async #open(client: Duplex, request: Request, via: Via): Promise<TLSSocket | undefined> {
    const opened = new TLSSocket(client, {
      isServer: true,
      secureContext: this.#options.authority().contextFor(request.host),
      ALPNProtocols: [spoken],
    });
    // Destroying a link stream drops its unsent bytes; the sandbox closes it instead.
    opened.destroySoon = () => void opened.end();
    const why = await handshakeOf(opened);
    if (why === undefined) return opened;
    opened.destroy();
    client.destroy();
    this.#refuse(request, via, 'inspection', untrusted(request, why));
    return undefined;
  }

  #objection(request: Request, bytes: Buffer): Objection | undefined {
    const named = objectionTo(this.#options.broker, request, bytes);
    if (named !== undefined) return { ...named, rule: 'server name' };
    const hello = readClientHello(bytes);
    const protocols = typeof hello === 'string' ? undefined : hello.protocols;
    if (protocols === undefined || protocols.includes(spoken)) return undefined;
    const reason = `${shownTarget(request)} is inspected, which supports HTTP/1.1 only, and this client offers ${protocols.join(', ').slice(0, 100)}; allow the host without inspection`;
    return { rule: 'inspection', reason, alert: noProtocol };
  }

  #refuse(request: Request, via: Via, rule: string, reason: string): void {
    this.#options.broker.deny(request, via, { allowed: false, rule, reason });
  }
}

interface Objection {
  readonly rule: string;
  readonly reason: string;
  readonly alert: Buffer;
}

function neither(request: Request): Objection {
  const reason = `${shownTarget(request)}: the connection uses neither TLS nor HTTP`;
  return { rule: 'inspection', reason, alert: Buffer.alloc(0) };
}

/** Undefined on success. */
function handshakeOf(opened: TLSSocket): Promise<string | undefined> {
  return new Promise((resolve) => {
    const late = setTimeout(() => resolve('it did not continue within 30 s'), handshakeMs);
    const done = (why: string | undefined) => {
      clearTimeout(late);
      resolve(why);
    };
    opened.on('error', (error: Error & { reason?: string }) => done(error.reason ?? error.message));
    opened.once('close', () => done('it hung up'));
    opened.once('secure', () => done(undefined));
  });
}

/** For a client that pins a certificate or has its own roots: it only shows a TLS failure. */
function untrusted(request: Request, why: string): string {
  return `${shownTarget(request)} is inspected, and the client rejected the certificate of this sandbox (${why.slice(0, 100)}): give it the roots in SSL_CERT_FILE, or allow the host without inspection if it pins its own`;
}
