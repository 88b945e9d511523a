import type { AuditRecord, Egress, EgressRule, EgressSpec } from '../core/egress.ts';
import { isGeodeError } from '../core/errors.ts';
import { type EventSink, noEvents } from '../core/events.ts';
import { Ledger } from '../ledger/ledger.ts';
import { Audit, type AuditLimits, type AuditQuery } from './audit.ts';
import { denialTeller } from './denial-events.ts';
import { checkSpec, openHatch } from './open-hatch.ts';
import type { Resolve } from './resolve.ts';
import { Secrets } from './secrets.ts';
import { egressChapter, PolicyTable } from './tables.ts';
import { type BudgetFacts, type UsageOptions, type UsageRecord, type UsageSum, UsageTable } from './usage.ts';

export interface EgressOptions {
  /** The file of the ledger. It is opened when something is first to be read or written. */
  readonly ledgerFile: string;
  readonly audit: AuditLimits;
  /** Beside the ledger it would protect nothing. */
  readonly secretsKeyFile: string;
  readonly usage: UsageOptions;
  readonly warn: (message: string) => void;
  readonly resolve?: Resolve;
  /** For sandboxes and runs that name nothing. */
  readonly initial?: EgressSpec | undefined;
  readonly denied?: readonly EgressRule[];
  /** Told of refusals. */
  readonly events?: EventSink;
}

/** The host's side of every hatch, with what it remembers. */
export interface EgressHost extends Egress, Disposable {
  /** What the operator denies to everyone: callers that are not trusted cannot take it out of a policy. */
  readonly denied: readonly EgressRule[];
  /** Refuses what could not be served for this user; gives it back otherwise. */
  check(user: string, spec: EgressSpec): EgressSpec;
  search(query?: AuditQuery): readonly AuditRecord[];
  readonly secrets: Pick<Secrets, 'set' | 'list' | 'remove' | 'rotate'>;
  /** What models used today, or on another day (2026-01-31, UTC). */
  usage(user: string, day?: string): readonly UsageSum[];
  budget(user: string): BudgetFacts;
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
  /** What crosses does not wait for a full disk. */
  const noted = (write: () => void) => {
    if (isClosed) return;
    try {
      write();
    } catch (error) {
      if (!isGeodeError(error)) throw error;
      options.warn(`The audit was not written: ${error.message}`);
    }
  };
  const note = (record: AuditRecord) => noted(() => tables().audit.add(record));
  return {
    initial: options.initial,
    denied: options.denied ?? [],
    check: (user, spec) =>
      checkSpec(spec, { bindings: { secret: (name) => tables().secrets.reveal(user, name) } }),
    open(sandbox, owner, spec, cancel) {
      isClosed = false;
      const { user, sandboxId } = owner;
      const bindings = {
        secret: (name: string) => tables().secrets.reveal(user, name),
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
          onDenied: denialTeller(options.events ?? noEvents, owner),
          ...(options.resolve && { resolve: options.resolve }),
        },
        cancel,
      );
    },
    remembered: (sandboxId) => tables().policies.get(sandboxId),
    remember: (sandboxId, spec) => tables().policies.set(sandboxId, spec),
    search: (query) => tables().audit.search(query),
    secrets: {
      set: (user, name, value) => tables().secrets.set(user, name, value),
      list: (user) => tables().secrets.list(user),
      remove: (user, name) => tables().secrets.remove(user, name),
      rotate: () => tables().secrets.rotate(),
    },
    usage: (user, day) => tables().usage.ofUser(user, day),
    budget: (user) => tables().usage.budget(user),
    [Symbol.dispose]() {
      isClosed = true;
      opened?.ledger[Symbol.dispose]();
      opened = undefined;
    },
  };
}

function openTables({ ledgerFile, audit, secretsKeyFile, usage }: EgressOptions) {
  const ledger = new Ledger(ledgerFile, [egressChapter]);
  return {
    ledger,
    audit: new Audit(ledger, audit),
    policies: new PolicyTable(ledger),
    secrets: new Secrets(ledger, secretsKeyFile),
    usage: new UsageTable(ledger, usage),
  };
}
