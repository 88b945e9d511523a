import type { Duplex } from 'node:stream';
import { reasonOf } from '../../base/errors.ts';
import { shownTarget } from '../../contract/host-name.ts';
import type { AuditRecord, Denial, EgressPolicy, Hatch } from '../../seams/egress.ts';
import type { Seen } from '../policy/learned.ts';
import { isPrivateTarget, type Person } from '../policy/person.ts';
import { type Decision, decide, type Request } from '../policy/policy.ts';
import { dial } from './dial.ts';
import type { HatchConnection } from './hatch-connection.ts';
import { failure, type Refusal, refusalOf } from './refusal.ts';
import { pin, type Resolve, systemResolve } from './resolve.ts';

/** Maximum connections of one sandbox. */
const mostOpen = 2_500;
/** Maximum of these that wait for a person. */
const mostHeld = 200;
const longestTimerMs = 2 ** 31 - 1;

export interface BrokerOptions {
  readonly sandboxId: string;
  readonly user: string;
  readonly hatch: Pick<Hatch, 'note'>;
  readonly policy: EgressPolicy;
  /** The command for a person to allow it. */
  readonly ask: (request: Request) => string;
  readonly audit: (record: AuditRecord) => void;
  /** Receives each refusal at once. */
  readonly onDenied?: (denial: Denial) => void;
  readonly resolve?: Resolve;
  readonly person?: Person;
  readonly onLearned?: (seen: Seen) => void;
}

/** The client that waits for the decision. Closing it cancels the wait. */
interface Client {
  readonly destroyed: boolean;
  once(event: 'close', listener: () => void): unknown;
  off(event: 'close', listener: () => void): unknown;
}

/** Allowed, resolved and connected. The rule is for the audit. */
export interface Passage {
  readonly socket: Awaited<ReturnType<typeof dial>>;
  readonly address: string;
  readonly rule: string;
}

export type Via = AuditRecord['via'];

/**
 * Decides which connections of one sandbox are allowed, and tracks the open ones. Every path through the hatch calls
 * it.
 */
export class Broker implements Disposable {
  readonly #options: BrokerOptions;
  readonly #open = new Set<HatchConnection>();
  /** Requests that a person allowed once. */
  readonly #once = new WeakSet<Request>();
  readonly #ended = new AbortController();
  #held = 0;
  /** Number of requests that are being asked about, resolved or dialled now. */
  #opening = 0;
  #policy: EgressPolicy;
  #expiry: NodeJS.Timeout | undefined;
  readonly #grantEnds = new Set<number>();

  constructor(options: BrokerOptions) {
    this.#options = options;
    this.#policy = options.policy;
    this.#watchExpiry();
  }

  get policy(): EgressPolicy {
    return this.#policy;
  }

  /** Closes connections that the new policy no longer allows. */
  set policy(policy: EgressPolicy) {
    this.#policy = policy;
    this.recheck();
    this.#watchExpiry();
  }

  decide(request: Request): Decision {
    const decision = decide(this.#policy, request);
    if (decision.allowed || !decision.undecided) return decision;
    const { inside } = request;
    if (this.#once.has(request) || (inside !== undefined && this.#once.has(inside)))
      return { allowed: true, rule: 'ask (once)', private: isPrivateTarget(request) };
    const grant = this.#options.person?.granted(request);
    if (grant === undefined) return decision;
    const rule = grant.sandboxId === null ? 'ask (for good)' : 'ask (for this sandbox)';
    return { allowed: true, rule, private: grant.private };
  }

  /** A connection to the target of the request, or the answer for the client. */
  async pass(request: Request, via: Via, client: Client): Promise<Passage | Refusal> {
    if (this.#open.size + this.#opening >= mostOpen) {
      this.audit({ request, via, rule: 'connections at once', verdict: 'failed', status: 503 });
      return failure(`this sandbox has ${mostOpen} open connections, the maximum`, 503);
    }
    this.#opening += 1;
    try {
      return await this.#connect(request, via, client);
    } finally {
      this.#opening -= 1;
    }
  }

  async #connect(request: Request, via: Via, client: Client): Promise<Passage | Refusal> {
    const startedAt = Date.now();
    const decision = await this.#decideOrAsk(request, client);
    if (!decision.allowed) return this.deny(request, via, decision);
    const pinned = await pin(request.host, decision, this.#options.resolve ?? systemResolve);
    if ('closed' in pinned) {
      const reason = `${shownTarget(request)} resolves to ${pinned.address}, which is not public (${pinned.closed})`;
      return this.deny(request, via, { allowed: false, rule: 'public addresses only', reason });
    }
    if ('failed' in pinned) return this.#failed(request, via, decision.rule, pinned.failed, startedAt);
    // The policy may have changed during the lookup.
    const again = this.decide(request);
    if (!again.allowed) return this.deny(request, via, again);
    const denied = this.denialOf(request, pinned.addresses);
    if (denied !== undefined) return this.deny(request, via, denied);
    try {
      const socket = await dial(pinned.addresses, request.port);
      const late = this.decide(request);
      if (late.allowed) {
        if (this.#policy.mode === 'learn') this.#options.onLearned?.(seenIn(request, late.private));
        return { socket, address: socket.remoteAddress ?? '', rule: late.rule };
      }
      socket.destroy();
      return this.deny(request, via, late);
    } catch (error) {
      const why = `${shownTarget(request)} cannot be reached: ${reasonOf(error)}`;
      return this.#failed(request, via, decision.rule, why, startedAt);
    }
  }

  /** The refusal, if a deny rule names one of the addresses of the name. */
  denialOf(request: Request, addresses: readonly string[]) {
    for (const host of addresses) {
      const decision = decide(this.#policy, { ...request, host });
      if (decision.allowed || !decision.rule.startsWith('deny ')) continue;
      return { ...decision, reason: `${shownTarget(request)} resolves to ${host}: ${decision.reason}` };
    }
    return undefined;
  }

  /** Asks a person about requests that no rule covers. */
  async #decideOrAsk(request: Request, client: Client): Promise<Decision> {
    const decision = this.decide(request);
    const { person } = this.#options;
    if (decision.allowed || !decision.undecided) return decision;
    const target = shownTarget(request);
    if (person === undefined)
      return { ...decision, reason: `${target} is not in the policy, and nobody can be asked here` };
    if (this.#held >= mostHeld)
      return { ...decision, reason: `${target}: ${mostHeld} connections are already waiting for an answer` };
    const gone = new AbortController();
    const leave = () => gone.abort();
    this.#held += 1;
    client.once('close', leave);
    if (client.destroyed) leave();
    try {
      const answer = await person.ask(request, AbortSignal.any([gone.signal, this.#ended.signal]));
      if ('refused' in answer) return { ...decision, reason: `${target} ${answer.refused}` };
      if (answer.isOnce) this.#once.add(request);
      this.#watchExpiry(answer.until);
      return this.decide(request);
    } finally {
      this.#held -= 1;
      client.off('close', leave);
    }
  }

  /** Records a refusal and returns it as the answer for the client. */
  deny(request: Request, via: Via, decision: Extract<Decision, { allowed: false }>): Refusal {
    const { host, port } = request;
    const isHopeless = decision.rule === 'public addresses only' || decision.rule.startsWith('deny ');
    const ask = isHopeless ? '' : this.#options.ask(request);
    const { rule, reason } = decision;
    const denial: Denial = { at: Date.now(), host, port, rule, reason, ask };
    this.#options.hatch.note(denial);
    this.#options.onDenied?.(denial);
    this.audit({ request, via, rule, verdict: 'denied', status: 403 });
    return refusalOf(denial);
  }

  /** Registers a connection that can be closed from now on. Call the result when it is over. */
  enter(crossing: HatchConnection): () => void {
    this.#open.add(crossing);
    return () => this.#open.delete(crossing);
  }

  /** For a tunnel that is closed by destroying its streams. */
  enterTunnel(request: Request, ...streams: readonly Duplex[]): () => void {
    return this.enter({
      request,
      cut: () => {
        for (const stream of streams) stream.destroy();
      },
    });
  }

  audit({
    request,
    via,
    rule,
    verdict,
    status = null,
    address = null,
    bytesOut = 0,
    bytesIn = 0,
    startedAt,
  }: Noted): void {
    const now = Date.now();
    this.#options.audit({
      at: startedAt ?? now,
      sandboxId: this.#options.sandboxId,
      user: this.#options.user,
      via,
      verdict,
      rule,
      host: request.host,
      port: request.port,
      method: request.http?.method ?? null,
      path: request.http?.path.replace(/[?#].*/s, '') ?? null,
      address,
      status,
      bytesOut,
      bytesIn,
      durationMs: startedAt === undefined ? 0 : now - startedAt,
    });
  }

  /** Closes connections that are no longer allowed. */
  recheck(): void {
    for (const crossing of [...this.#open]) if (!this.decide(crossing.request).allowed) crossing.cut();
  }

  [Symbol.dispose](): void {
    this.#ended.abort();
    clearTimeout(this.#expiry);
    for (const crossing of [...this.#open]) crossing.cut();
  }

  #failed(request: Request, via: Via, rule: string, why: string, startedAt: number): Refusal {
    this.audit({ request, via, rule, verdict: 'failed', status: 502, startedAt });
    return failure(why);
  }

  /** When a rule expires, its open connections are closed. */
  #watchExpiry(grantEnd: number | null = null): void {
    clearTimeout(this.#expiry);
    if (grantEnd !== null) this.#grantEnds.add(grantEnd);
    const all = [...this.#grantEnds, ...this.#policy.allow.map(({ until }) => until)];
    const ends = all.flatMap((until) => (until !== undefined && until > Date.now() ? [until] : []));
    if (ends.length === 0) return;
    const inMs = Math.min(Math.min(...ends) - Date.now() + 1, longestTimerMs);
    this.#expiry = setTimeout(() => {
      this.recheck();
      this.#watchExpiry();
    }, inMs).unref();
  }
}

function seenIn({ host, port, http, inspected = false }: Request, isPrivate: boolean): Seen {
  return { host, port, private: isPrivate, inspected, ...(http && { http }) };
}

interface Noted extends Partial<Pick<AuditRecord, 'status' | 'address' | 'bytesOut' | 'bytesIn'>> {
  readonly request: Request;
  readonly via: Via;
  readonly rule: string;
  readonly verdict: AuditRecord['verdict'];
  readonly startedAt?: number;
}
