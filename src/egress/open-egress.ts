import { existsSync } from 'node:fs';
import { isGeodeError } from '../base/errors.ts';
import { withoutSecrets } from '../base/secret-shapes.ts';
import { checkPaths } from '../contract/egress-rules.ts';
import { Ledger } from '../ledger/ledger.ts';
import type { Approvals } from '../seams/approval.ts';
import type {
  AuditRecord,
  Egress,
  EgressGrant,
  EgressOwner,
  EgressPolicy,
  EgressRule,
  EgressSpec,
  EgressTarget,
} from '../seams/egress.ts';
import { type EventSink, noEvents } from '../seams/events.ts';
import { Audit, type AuditLimits, type AuditQuery } from './audit/audit.ts';
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
import { checkSpec, openHatch } from './open-hatch.ts';
import { alsoDenying } from './policy/change-policy.ts';
import { Grants } from './policy/grants.ts';
import { Learned, type Seen, smallestPolicy } from './policy/learned.ts';
import { personFor } from './policy/person.ts';
import { type Resolve, systemResolve } from './proxy/resolve.ts';
import { DefaultTable, egressChapter, PolicyTable } from './tables.ts';

const defaultAskMs = 60_000;
/** The authorities of sandboxes are sealed beside the secrets of users, under a name that no user can have. */
const authorities = ' authorities';

function authorityName(sandboxId: string): string {
  return `authority-${sandboxId}`.toLowerCase().slice(0, 48);
}

export interface EgressOptions {
  /** The file of the ledger. It is opened when something is first to be read or written. */
  readonly ledgerFile: string;
  readonly audit: AuditLimits;
  /** Beside the ledger it would protect nothing. */
  readonly secretsKeyFile: string;
  readonly usage: UsageOptions;
  readonly warn: (message: string) => void;
  readonly resolve?: Resolve;
  /** For sandboxes and runs that name nothing, of users who have said nothing either. */
  readonly initial?: EgressSpec | undefined;
  readonly denied?: readonly EgressRule[];
  /** Told of refusals. */
  readonly events?: EventSink;
  /** Asks the person in the mode `ask`; without it, nobody is asked. */
  readonly approvals?: Approvals;
  /** Keys of the config, which nothing may show either. */
  readonly operatorKeys?: readonly string[];
  /** Credentials of the config that bindings to exactly these upstreams use, for every user. */
  readonly operatorCredentials?: readonly OperatorCredential[];
  /** Authorities in PEM that are trusted beside the usual ones when TLS is spoken to an upstream. */
  readonly upstreamCa?: string | undefined;
  /** How long a connection is held for an answer; default 60 s. */
  readonly askMs?: number;
}

export interface OperatorCredential {
  readonly binding: string;
  readonly upstream: string;
  readonly secret: string;
}

export interface EgressDefault {
  readonly from: 'user' | 'config' | 'nothing';
  /** Undefined where nobody said anything: they may reach nothing. */
  readonly spec: EgressSpec | undefined;
}

/** The host's side of every hatch, with what it remembers. */
export interface EgressHost extends Egress, Disposable {
  /** Rules that the operator denies to everyone: untrusted callers cannot remove them from a policy. */
  readonly denied: readonly EgressRule[];
  /** The default policy of a user's sandboxes and runs, and where it was set. */
  defaultOf(user: string): EgressDefault;
  /** Counts for those that are made from now on. `undefined`: what the config says holds again. */
  setDefault(user: string, spec: EgressSpec | undefined): void;
  /** For calls of the host itself; `secret_missing` while there is no such secret of the user. */
  bind(owner: EgressOwner, binding: Binding): HostBinding;
  /** Refuses what could not be served for this user; gives it back otherwise. */
  check(user: string, spec: EgressSpec): EgressSpec;
  search(query?: AuditQuery): readonly AuditRecord[];
  readonly secrets: Pick<Secrets, 'set' | 'list' | 'remove' | 'rotate'>;
  /** Values that nothing may show: those of this user and of the config; `null`: of everybody. Never throws. */
  secretValues(user: string | null): readonly string[];
  /** Model use of today, or of another day (2026-01-31, UTC). */
  usage(user: string, day?: string): readonly UsageSum[];
  budget(user: string): BudgetFacts;
  /** Permissions that the user gave when asked. */
  grants(user: string): readonly EgressGrant[];
  /** Takes it back, and cuts what it let pass. How many there were. */
  removeGrant(user: string, target: EgressTarget): number;
  /** Forgets what a sandbox reached while it was learned from. */
  beginLearning(sandboxId: string): void;
  /** The smallest policy that would have let pass what a sandbox reached in the mode `learn`. */
  learned(sandboxId: string, policy: EgressPolicy): EgressPolicy;
}

export function openEgress(options: EgressOptions): EgressHost {
  let opened: ReturnType<typeof openTables> | undefined;
  /** After its end nothing late opens the ledger again; a new hatch or a question does. */
  let isClosed = false;
  const tables = () => {
    isClosed = false;
    if (opened !== undefined) return opened;
    opened = openTables(options);
    return opened;
  };
  /** Connections do not wait for a full disk. */
  const noted = (write: () => void) => {
    if (isClosed) return;
    try {
      write();
    } catch (error) {
      if (!isGeodeError(error)) throw error;
      options.warn(`The audit was not written: ${error.message}`);
    }
  };
  /** Of every hatch that is open. */
  const rechecks = new Set<() => void>();
  const known = new KnownSecrets(
    (user) => (isClosed || !existsSync(options.ledgerFile) ? [] : tables().secrets.values(user)),
    options.operatorKeys ?? [],
  );
  /** The operator's only for the upstream that the operator named: no other server ever gets it. */
  const secretOf = (user: string, name: string, { href }: URL) =>
    options.operatorCredentials?.find(
      ({ binding, upstream }) => binding === name && new URL(upstream).href === href,
    )?.secret ?? tables().secrets.reveal(user, name);
  const note = (record: AuditRecord) =>
    noted(() => {
      const path = record.path && withoutSecrets(record.path, known.of(record.user));
      tables().audit.add({ ...record, path });
    });
  const denied = options.denied ?? [];
  /** Rules that the operator denies may be newer than what the user has said. */
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
    check(user, spec) {
      checkPaths(spec);
      return checkSpec(spec, { bindings: { secret: (name, upstream) => secretOf(user, name, upstream) } });
    },
    open(sandbox, owner, spec, cancel) {
      isClosed = false;
      const { user, sandboxId } = owner;
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
          audit: note,
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

/** A path that holds a secret is not written down: every path of its method passes then. */
function withoutValues(seen: Seen, secrets: readonly string[]): Seen {
  const path = seen.http?.path ?? null;
  if (seen.http === undefined || path === null || withoutSecrets(path, secrets) === path) return seen;
  return { ...seen, http: { method: seen.http.method, path: null } };
}

function openTables({ ledgerFile, audit, secretsKeyFile, usage }: EgressOptions) {
  const ledger = new Ledger(ledgerFile, [egressChapter]);
  return {
    ledger,
    audit: new Audit(ledger, audit),
    policies: new PolicyTable(ledger),
    defaults: new DefaultTable(ledger),
    grants: new Grants(ledger),
    learned: new Learned(ledger),
    secrets: new Secrets(ledger, secretsKeyFile),
    usage: new UsageTable(ledger, usage),
  };
}
