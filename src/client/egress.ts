/** Network policies, network requests and the credentials of bindings, over HTTP. */

import type { Cancel } from '../base/cancel.ts';
import type { Contract } from '../contract/contract.ts';
import type { egress } from '../contract/egress.ts';
import type { secrets } from '../contract/secrets.ts';
import type {
  BindingSpec,
  EgressBridge,
  EgressPolicy,
  EgressRule,
  EgressSpec,
  EgressTarget,
} from '../seams/egress.ts';
import { type Calls, callsOf } from './calls.ts';
import type { ApiConnection } from './send.ts';

/** Short form: `{ allow: ['npm', '*.example.com:8443'], bindings: ['anthropic'] }`. */
export interface EgressRequest {
  /** Default: follows from the allowed rules. */
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
  /** Whether targets without a rule wait for the user's answer, as an approval. */
  ask(on: boolean, options?: Cancel): Promise<EgressSpec>;
  /** Allows every public address from now on and records the targets. */
  learn(options?: Cancel): Promise<EgressSpec>;
  /** The smallest policy that allows the recorded targets; applied, unless `apply` is false. */
  learned(options?: { readonly apply?: boolean } & Cancel): Promise<EgressSpec>;
}

export type EgressLogQuery = NonNullable<Parameters<Calls<typeof egress>['log']>[0]>;

/** `from` says where it was set; `nothing`: no policy is set, and nothing is allowed. */
export interface RemoteEgressDefault extends EgressSpec {
  readonly from: Awaited<ReturnType<Calls<typeof egress>['default']>>['from'];
}

export interface RemoteEgress extends Pick<Calls<typeof egress>, 'log' | 'usage' | 'bindings' | 'grants'> {
  /** The default policy of new sandboxes and runs. */
  default(options?: Cancel): Promise<RemoteEgressDefault>;
  /** Existing sandboxes keep their policy. Resolves to the new default. */
  setDefault(egress: EgressSpec | EgressRequest, options?: Cancel): Promise<RemoteEgressDefault>;
  /** Makes the config's default apply again. */
  clearDefault(options?: Cancel): Promise<RemoteEgressDefault>;
  /** Resolves to the number of removed permissions. */
  removeGrant(target: EgressTarget, options?: Cancel): Promise<number>;
}

/** Needs the scope `secrets`. Nothing here gives a value back. */
export interface RemoteSecrets extends Omit<Calls<typeof secrets>, 'set'> {
  set(name: string, value: string, options?: Cancel): Promise<void>;
}

export function egressBody(egress: EgressSpec | EgressRequest) {
  return 'policy' in egress ? { ...egress.policy, bindings: egress.bindings } : egress;
}

export function remoteSandboxEgress(connection: ApiConnection, chat: string): RemoteSandboxEgress {
  const calls = callsOf(connection, 'egressPolicy');
  return {
    get: async (cancel) => specOf(await calls.get(chat, cancel)),
    set: async (egress, cancel) => specOf(await calls.set(chat, egressBody(egress), cancel)),
    allow: async (rules, { forMs, ...cancel } = {}) =>
      specOf(await calls.allow(chat, { rules, forMs }, cancel)),
    deny: async (rules, { forMs, ...cancel } = {}) =>
      specOf(await calls.deny(chat, { rules, forMs }, cancel)),
    ask: async (on, cancel) => specOf(await calls.ask(chat, { on }, cancel)),
    learn: async (cancel) => specOf(await calls.learn(chat, cancel)),
    learned: async ({ apply = true, ...cancel } = {}) => specOf(await calls.learned(chat, { apply }, cancel)),
  };
}

export function remoteEgress(connection: ApiConnection): RemoteEgress {
  const { default: get, setDefault, clearDefault, removeGrant, ...calls } = callsOf(connection, 'egress');
  return {
    ...calls,
    default: async (cancel) => defaultOf(await get(cancel)),
    setDefault: async (egress, cancel) => defaultOf(await setDefault(egressBody(egress), cancel)),
    clearDefault: async (cancel) => defaultOf(await clearDefault(cancel)),
    removeGrant: ({ host, port }, cancel) => removeGrant({ host, port, ...cancel }),
  };
}

export function remoteSecrets(connection: ApiConnection): RemoteSecrets {
  const { set, ...calls } = callsOf(connection, 'secrets');
  return { ...calls, set: (name, value, cancel) => set(name, { value }, cancel) };
}

type State = Awaited<ReturnType<Calls<Contract['egressPolicy']>['get']>>;

function specOf({ bindings, bridges, ...policy }: State): EgressSpec {
  return { policy: { ...policy, ...(bridges.length > 0 && { bridges }) }, bindings };
}

function defaultOf({ from, ...state }: State & Pick<RemoteEgressDefault, 'from'>): RemoteEgressDefault {
  return { from, ...specOf(state) };
}
