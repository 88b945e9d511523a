import { existsSync } from 'node:fs';
import { isGeodeError } from '../base/errors.ts';
import { withoutSecrets } from '../base/secret-shapes.ts';
import { checkPaths } from '../contract/egress-rules.ts';
import { Ledger } from '../ledger/ledger.ts';
import type { Approvals } from '../seams/approval.ts';
import {
  type AuditRecord,
  type Egress,
  type EgressGrant,
  type EgressOwner,
  type EgressPolicy,
  type EgressRule,
  type EgressSpec,
  type EgressTarget,
  placeholderKey,
} from '../seams/egress.ts';
import { type EventSink, noEvents } from '../seams/events.ts';
import { recordedHost, type Tapes } from '../seams/tapes.ts';
import type { Telemetry } from '../seams/telemetry.ts';
import { type AuditLimits, type AuditQuery, EgressAudit } from './audit/audit.ts';
import { denialEvents } from './audit/denial-events.ts';
import {
  type BudgetFacts,
  type UsageOptions,
  type UsageRecord,
  type UsageSum,
  UsageTable,
} from './audit/usage.ts';
import { missingSecret } from './bindings/binding-server.ts';
import type { Binding } from './bindings/bindings.ts';
import { type HostBinding, openHostBinding } from './bindings/host-binding.ts';
import { KnownSecrets } from './bindings/known-secrets.ts';
import { Secrets } from './bindings/secrets.ts';
import { UpstreamTls } from './inspection/upstream-tls.ts';
import { checkEgressSpec, openHatch, prepareProxy } from './open-hatch.ts';
import { alsoDenying } from './policy/change-policy.ts';
import { Grants } from './policy/grants.ts';
import { Learned, type Seen, smallestPolicy } from './policy/learned.ts';
import { personFor } from './policy/person.ts';
import { type Resolve, systemResolve } from './proxy/resolve.ts';
import { DefaultTable, egressChapter, PolicyTable } from './tables.ts';
import { openTapes } from './tapes.ts';

const defaultAskMs = 60_000;
/** The authorities of sandboxes are sealed with the secrets of users, under a name that no user can have. */
const authorities = ' authorities';

function authorityName(sandboxId: string): string {
  return `authority-${sandboxId}`.toLowerCase().slice(0, 48);
}

export interface EgressOptions {
  /** The file of the ledger. Opened when it is first read or written. */
  readonly ledgerFile: string;
  readonly audit: AuditLimits;
  /** The key that encrypts secrets. Keep it in another folder than the ledger: a copy of one folder must not contain both. */
  readonly secretsKeyFile: string;
  readonly usage: UsageOptions;
  readonly warn: (message: string) => void;
  readonly resolve?: Resolve;
  /** Default policy for sandboxes and runs without one, of users without a default of their own. */
  readonly initial?: EgressSpec | undefined;
  readonly denied?: readonly EgressRule[];
  /** Receives refusals. */
  readonly events?: EventSink;
  /** Asks the person in the mode `ask`. Without it nobody is asked. */
  readonly approvals?: Approvals;
  /** Keys of the config, which must not be shown either. */
  readonly operatorKeys?: readonly string[];
  /** Credentials of the config, for bindings of every user to exactly these upstreams. */
  readonly operatorCredentials?: readonly OperatorCredential[];
  /** Authorities in PEM, trusted in addition to the usual ones for TLS to an upstream. */
  readonly upstreamCa?: string | undefined;
  /** Takes the traces of sandboxes with the binding `otlp`. Left out: they are refused. */
  readonly telemetry?: Telemetry;
  /** How long a connection waits for an answer; default 60 s. */
  readonly askMs?: number;
}

export interface OperatorCredential {
  readonly binding: string;
  readonly upstream: string;
  readonly secret: string;
}

export interface EgressDefault {
  readonly from: 'user' | 'config' | 'nothing';
  /** Undefined if no default is set: nothing is allowed. */
  readonly spec: EgressSpec | undefined;
}

/** The host's side of every hatch, and its stored state. */
export interface EgressHost extends Egress, Disposable {
  /** Rules that the operator denies to everyone. Untrusted callers cannot remove them from a policy. */
  readonly denied: readonly EgressRule[];
  /** Record and play the calls of sandboxes through their bindings. */
  readonly tapes: Tapes;
  /** The default policy of a user's sandboxes and runs, and where it was set. */
  defaultOf(user: string): EgressDefault;
  /** Applies to new sandboxes and runs. `undefined`: use the config's policy again. */
  setDefault(user: string, spec: EgressSpec | undefined): void;
  /** For calls of the host itself. Throws `secret_missing` if the user has no such secret. */
  bind(owner: EgressOwner, binding: Binding): HostBinding;
  /** Throws for a policy that could not be served for this user; otherwise returns it. */
  check(user: string, spec: EgressSpec): EgressSpec;
  search(query?: AuditQuery): readonly AuditRecord[];
  readonly secrets: Pick<Secrets, 'set' | 'list' | 'remove' | 'rotate'>;
  /** Values that must not be shown, of this user and the config; `null`: of everyone. Never throws. */
  secretValues(user: string | null): readonly string[];
  /** Model use of today or of another day (2026-01-31, UTC). */
  usage(user: string, day?: string): readonly UsageSum[];
  budget(user: string): BudgetFacts;
  /** Permissions that the user gave when asked. */
  grants(user: string): readonly EgressGrant[];
  /** Removes a permission and closes the connections it allowed. Returns how many there were. */
  removeGrant(user: string, target: EgressTarget): number;
  /** Deletes the targets learned from a sandbox. */
  beginLearning(sandboxId: string): void;
  /** The smallest policy that allows everything a sandbox reached in the mode `learn`. */
  learned(sandboxId: string, policy: EgressPolicy): EgressPolicy;
}

export function openEgress(options: EgressOptions): EgressHost {
  let opened: ReturnType<typeof openTables> | undefined;
  /** After its end, late events do not open the ledger again; a new hatch or a question does. */
  let isClosed = false;
  const tables = () => {
    isClosed = false;
    if (opened !== undefined) return opened;
    opened = openTables(options);
    return opened;
  };
  /** Connections continue on a full disk. */
  const noted = (write: () => void) => {
    if (isClosed) return;
    try {
      write();
    } catch (error) {
      if (!isGeodeError(error)) throw error;
      options.warn(`The audit was not written: ${error.message}`);
    }
  };
  /** The policies of all open hatches. */
  const rechecks = new Set<() => void>();
  const known = new KnownSecrets(
    (user) => (isClosed || !existsSync(options.ledgerFile) ? [] : tables().secrets.values(user)),
    options.operatorKeys ?? [],
  );
  /** Only for the upstream that the operator named: no other server ever gets the credential. */
  const secretOf = (user: string, name: string, { href, hostname }: URL) => {
    // A tape answers there, so no real credential is needed or used.
    if (hostname === recordedHost) return placeholderKey;
    return (
      options.operatorCredentials?.find(
        ({ binding, upstream }) => binding === name && new URL(upstream).href === href,
      )?.secret ?? tables().secrets.reveal(user, name)
    );
  };
  const note = (record: AuditRecord) =>
    noted(() => {
      const path = record.path && withoutSecrets(record.path, known.of(record.user));
      tables().audit.add({ ...record, path });
    });
  const denied = options.denied ?? [];
  const tapes = openTapes();
  /** The operator's deny rules may be newer than the user's policy. */
  const ownDefault = (user: string) => {
    const own = existsSync(options.ledgerFile) ? tables().defaults.get(user) : undefined;
    return own && bounded(own);
  };
  const bounded = (spec: EgressSpec) => ({ ...spec, policy: alsoDenying(spec.policy, denied) });
  return {
    initial: (user) => ownDefault(user) ?? options.initial,
    defaultOf(user) {
      const own = ownDefault(user);
      if (own !== undefined) return { from: 'user', spec: own };
      return { from: options.initial === undefined ? 'nothing' : 'config', spec: options.initial };
    },
    setDefault(user, spec) {
      tables().defaults.set(user, spec);
      options.events?.emit(user, { type: 'egress-default', mode: spec?.policy.mode ?? null });
    },
    bounded,
    denied,
    tapes,
    check(user, spec) {
      checkPaths(spec);
      return checkEgressSpec(spec, {
        bindings: { secret: (name, upstream) => secretOf(user, name, upstream) },
      });
    },
    prepare: prepareProxy,
    open(sandbox, owner, spec, cancel) {
      isClosed = false;
      const { user, sandboxId, chat } = owner;
      const tape = chat === undefined ? undefined : () => tapes.of(user, chat);
      const bindings = {
        secret: (name: string, upstream: URL) => secretOf(user, name, upstream),
        refusal: () => tables().usage.refusal(user),
        onUsage: (usage: Omit<UsageRecord, 'user' | 'sandboxId'>) =>
          noted(() => tables().usage.add({ ...usage, user, sandboxId })),
      };
      return openHatch(
        {
          sandbox,
          owner,
          spec,
          bindings,
          ...(tape && { tape }),
          ...(options.telemetry && { telemetry: options.telemetry }),
          secrets: () => known.of(user),
          audit(record) {
            note(record);
            if (record.verdict === 'allowed' && !['binding', 'http'].includes(record.via))
              tape?.()?.missed?.(`${record.host}:${record.port}`);
          },
          onDenied: denialEvents(options.events ?? noEvents, owner),
          ...(options.resolve && { resolve: options.resolve }),
          ...(options.upstreamCa !== undefined && { upstreamCa: options.upstreamCa }),
          ...(owner.chat !== undefined && {
            authority: {
              load: () => tables().secrets.reveal(authorities, authorityName(sandboxId)),
              save(stored: string) {
                tables().secrets.set(authorities, authorityName(sandboxId), stored);
                known.forget();
              },
            },
          }),
          ...(options.approvals && {
            person: personFor({
              approvals: options.approvals,
              grants: () => (isClosed ? undefined : tables().grants),
              owner,
              waitMs: options.askMs ?? defaultAskMs,
            }),
          }),
          rechecks,
          onLearned: (seen) =>
            noted(() => tables().learned.add(sandboxId, withoutValues(seen, known.of(user)))),
        },
        cancel,
      );
    },
    bind(owner, binding) {
      isClosed = false;
      const { user, sandboxId } = owner;
      const secret = () =>
        binding.secret === null ? undefined : secretOf(user, binding.secret, binding.upstream);
      if (binding.secret !== null && secret() === undefined)
        throw missingSecret(binding.name, binding.secret);
      return openHostBinding({
        owner,
        binding,
        secret,
        denied: options.denied ?? [],
        audit: note,
        resolve: options.resolve ?? systemResolve,
        upstreamTls: new UpstreamTls(options.upstreamCa),
        refusal: () => tables().usage.refusal(user),
        onUsage: (usage) => noted(() => tables().usage.add({ ...usage, user, sandboxId })),
      });
    },
    remembered: (sandboxId) => tables().policies.get(sandboxId),
    remember(sandboxId, spec) {
      tables().policies.set(sandboxId, spec);
      if (spec !== undefined) return;
      tables().grants.forget(sandboxId);
      tables().learned.forget(sandboxId);
      tables().secrets.remove(authorities, authorityName(sandboxId));
    },
    search: (query) => tables().audit.search(query),
    secrets: {
      set(user, name, value) {
        tables().secrets.set(user, name, value);
        known.forget();
      },
      list: (user) => tables().secrets.list(user),
      remove: (user, name) => tables().secrets.remove(user, name),
      rotate: () => tables().secrets.rotate(),
    },
    secretValues: (user) => known.of(user),
    usage: (user, day) => tables().usage.ofUser(user, day),
    budget: (user) => tables().usage.budget(user),
    grants: (user) => tables().grants.list(user),
    removeGrant(user, target) {
      const removed = tables().grants.remove(user, target);
      for (const recheck of rechecks) recheck();
      return removed;
    },
    beginLearning: (sandboxId) => tables().learned.forget(sandboxId),
    learned: (sandboxId, policy) => smallestPolicy(policy, tables().learned.targets(sandboxId)),
    [Symbol.dispose]() {
      isClosed = true;
      opened?.ledger[Symbol.dispose]();
      opened = undefined;
    },
  };
}

/** A path that contains a secret is not stored; every path of its method is allowed then. */
function withoutValues(seen: Seen, secrets: readonly string[]): Seen {
  const path = seen.http?.path ?? null;
  if (seen.http === undefined || path === null || withoutSecrets(path, secrets) === path) return seen;
  return { ...seen, http: { method: seen.http.method, path: null } };
}

function openTables({ ledgerFile, audit, secretsKeyFile, usage }: EgressOptions) {
  const ledger = new Ledger(ledgerFile, [egressChapter]);
  return {
    ledger,
    audit: new EgressAudit(ledger, audit),
    policies: new PolicyTable(ledger),
    defaults: new DefaultTable(ledger),
    grants: new Grants(ledger),
    learned: new Learned(ledger),
    secrets: new Secrets(ledger, secretsKeyFile),
    usage: new UsageTable(ledger, usage),
  };
}
