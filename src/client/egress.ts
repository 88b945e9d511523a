/** Network policies, network requests and the credentials of bindings, over HTTP. */

import type { Cancel } from '../base/cancel.ts';
import type {
  WireBindings,
  WireEgressDefault,
  WireEgressLog,
  WireEgressState,
  WireEgressUsage,
  WireGrants,
  WireSecrets,
} from '../contract/egress.ts';
import type { Own } from '../contract/names.ts';
import { fromWire, toWire } from '../contract/old-names.ts';
import type {
  AuditRecord,
  BindingSpec,
  EgressBridge,
  EgressGrant,
  EgressPolicy,
  EgressRule,
  EgressSpec,
  EgressTarget,
} from '../seams/egress.ts';
import { callsOf } from './calls.ts';
import { ask, type Connection } from './send.ts';

/** As people write it: `{ allow: ['npm', '*.example.com:8443'], bindings: ['anthropic'] }`. */
export interface EgressRequest {
  /** Left out: what the allowed rules come to. */
  readonly mode?: EgressPolicy['mode'];
  readonly allow?: readonly (string | EgressRule)[];
  readonly deny?: readonly (string | EgressRule)[];
  readonly bridges?: readonly EgressBridge[];
  readonly bindings?: readonly (string | BindingSpec)[];
}

/** Changes take effect at once and resolve to the new policy. */
export interface RemoteSandboxEgress {
  get(options?: Cancel): Promise<EgressSpec>;
  set(egress: EgressSpec | EgressRequest, options?: Cancel): Promise<EgressSpec>;
  allow(
    rules: readonly (string | EgressRule)[],
    options?: { readonly forMs?: number } & Cancel,
  ): Promise<EgressSpec>;
  deny(
    rules: readonly (string | EgressRule)[],
    options?: { readonly forMs?: number } & Cancel,
  ): Promise<EgressSpec>;
  /** Whether what no rule decides waits for the user's answer, as an approval. */
  ask(on: boolean, options?: Cancel): Promise<EgressSpec>;
  /** From now on every public address passes and is written down. */
  learn(options?: Cancel): Promise<EgressSpec>;
  /** The smallest policy that lets pass what was written down; it holds, unless `apply` is false. */
  learned(options?: { readonly apply?: boolean } & Cancel): Promise<EgressSpec>;
}

export interface EgressLogQuery {
  /** The id of a sandbox or a run, also of one that is gone. */
  readonly sandbox?: string;
  readonly verdict?: AuditRecord['verdict'];
  readonly since?: number;
  /** A part of the host, the path or the rule. */
  readonly words?: string;
  readonly limit?: number;
  /** Requests of all users: only on the host's own socket. */
  readonly users?: 'all';
}

/** `from` says who said so; `nothing`: nobody, and nothing passes. */
export interface RemoteEgressDefault extends EgressSpec {
  readonly from: WireEgressDefault['from'];
}

export interface RemoteEgress {
  /** Newest first. */
  log(query?: EgressLogQuery & Cancel): Promise<readonly AuditRecord[]>;
  /** Of today, or of another day (2026-01-31, UTC); the budget is that of today. */
  usage(options?: { readonly day?: string } & Cancel): Promise<Own<WireEgressUsage>>;
  bindings(options?: Cancel): Promise<Own<WireBindings>['bindings']>;
  /** The default policy of new sandboxes and runs. */
  default(options?: Cancel): Promise<RemoteEgressDefault>;
  /** Existing sandboxes keep their policy. Resolves to the new default. */
  setDefault(egress: EgressSpec | EgressRequest, options?: Cancel): Promise<RemoteEgressDefault>;
  /** Makes the config's default apply again. */
  clearDefault(options?: Cancel): Promise<RemoteEgressDefault>;
  /** Permissions that the user gave when asked, for one sandbox or permanently. */
  grants(options?: Cancel): Promise<readonly EgressGrant[]>;
  /** Takes it back. How many there were. */
  removeGrant(target: EgressTarget, options?: Cancel): Promise<number>;
}

/** Needs the scope `secrets`. Nothing here gives a value back. */
export interface RemoteSecrets {
  list(options?: Cancel): Promise<Own<WireSecrets>['secrets']>;
  set(name: string, value: string, options?: Cancel): Promise<void>;
  /** Returns false if there is no such secret. */
  remove(name: string, options?: Cancel): Promise<boolean>;
  /** Seals those of all users with a new key; says how many. Needs the scope `admin`. */
  rotate(options?: Cancel): Promise<number>;
}

export function egressBody(egress: EgressSpec | EgressRequest) {
  return 'policy' in egress ? { ...egress.policy, bindings: egress.bindings } : egress;
}

export function wireEgress(egress: EgressSpec | EgressRequest) {
  return toWire(egressBody(egress));
}

export function remoteSandboxEgress(connection: Connection, sandbox: string): RemoteSandboxEgress {
  const path = `${sandbox}/egress`;
  const state = async (method: string, where: string, json: unknown, { signal }: Cancel) =>
    specOf(
      await ask<WireEgressState>(connection, method, where, {
        ...(json !== undefined && { json }),
        signal,
      }),
    );
  return {
    get: (cancel = {}) => state('GET', path, undefined, cancel),
    set: (egress, cancel = {}) => state('PUT', path, wireEgress(egress), cancel),
    allow: (rules, { forMs, ...cancel } = {}) =>
      state('POST', `${path}/allow`, { rules, for_ms: forMs }, cancel),
    deny: (rules, { forMs, ...cancel } = {}) =>
      state('POST', `${path}/deny`, { rules, for_ms: forMs }, cancel),
    ask: (on, cancel = {}) => state('POST', `${path}/ask`, { on }, cancel),
    learn: (cancel = {}) => state('POST', `${path}/learn`, undefined, cancel),
    learned: ({ apply = true, ...cancel } = {}) => state('POST', `${path}/learned`, { apply }, cancel),
  };
}

export function remoteEgress(connection: Connection): RemoteEgress {
  const base = '/api/v1/egress';
  const defaultFrom = async (method: string, request: { json?: unknown } & Cancel) => {
    const { from, ...state } = await ask<WireEgressDefault>(connection, method, `${base}/default`, request);
    return { from, ...specOf(state) };
  };
  return {
    async log({ signal, ...query } = {}) {
      const { records } = await ask<WireEgressLog>(connection, 'GET', `${base}/log`, { query, signal });
      return fromWire(records);
    },
    async usage({ day, signal } = {}) {
      const query = { day };
      return fromWire(await ask<WireEgressUsage>(connection, 'GET', `${base}/usage`, { query, signal }));
    },
    async bindings({ signal } = {}) {
      const { bindings } = await ask<WireBindings>(connection, 'GET', `${base}/bindings`, { signal });
      return fromWire(bindings);
    },
    default: ({ signal } = {}) => defaultFrom('GET', { signal }),
    setDefault: (egress, { signal } = {}) => defaultFrom('PUT', { json: wireEgress(egress), signal }),
    clearDefault: ({ signal } = {}) => defaultFrom('DELETE', { signal }),
    async grants({ signal } = {}) {
      const { grants } = await ask<WireGrants>(connection, 'GET', `${base}/grants`, { signal });
      return fromWire(grants);
    },
    async removeGrant({ host, port }, { signal } = {}) {
      const query = { host, port };
      const answer = await ask<{ removed: number }>(connection, 'DELETE', `${base}/grants`, {
        query,
        signal,
      });
      return answer.removed;
    },
  };
}

export function remoteSecrets(connection: Connection): RemoteSecrets {
  const { list, set, remove, rotate } = callsOf(connection, 'secrets');
  return { list, set: (name, value, cancel) => set(name, { value }, cancel), remove, rotate };
}

function specOf(wire: WireEgressState): EgressSpec {
  const { bindings, bridges, ...policy } = fromWire(wire);
  return { policy: { ...policy, ...(bridges.length > 0 && { bridges }) }, bindings };
}
