import type { AuditRecord, Egress, EgressSpec } from '../core/egress.ts';
import { isGeodeError } from '../core/errors.ts';
import { Ledger } from '../ledger/ledger.ts';
import { Audit, type AuditLimits, type AuditQuery } from './audit.ts';
import { openHatch } from './open-hatch.ts';
import type { Resolve } from './resolve.ts';
import { egressChapter, PolicyTable } from './tables.ts';

export interface EgressOptions {
  /** The file of the ledger. It is opened when something is first to be read or written. */
  readonly ledgerFile: string;
  readonly audit: AuditLimits;
  readonly warn: (message: string) => void;
  readonly resolve?: Resolve;
  /** For sandboxes and runs that name nothing. */
  readonly initial?: EgressSpec | undefined;
}

/** The host's side of every hatch, with what it remembers. */
export interface EgressHost extends Egress, Disposable {
  search(query?: AuditQuery): readonly AuditRecord[];
}

export function openEgress(options: EgressOptions): EgressHost {
  let opened: { ledger: Ledger; audit: Audit; policies: PolicyTable } | undefined;
  /** After its end nothing late opens the ledger again; a new hatch or a question does. */
  let isClosed = false;
  const tables = () => {
    isClosed = false;
    if (opened !== undefined) return opened;
    const ledger = new Ledger(options.ledgerFile, [egressChapter]);
    opened = { ledger, audit: new Audit(ledger, options.audit), policies: new PolicyTable(ledger) };
    return opened;
  };
  /** What crosses does not wait for a full disk. */
  const note = (record: AuditRecord) => {
    if (isClosed) return;
    try {
      tables().audit.add(record);
    } catch (error) {
      if (!isGeodeError(error)) throw error;
      options.warn(`The audit was not written: ${error.message}`);
    }
  };
  return {
    initial: options.initial,
    open(sandbox, owner, spec, cancel) {
      isClosed = false;
      return openHatch(
        { sandbox, owner, spec, audit: note, ...(options.resolve && { resolve: options.resolve }) },
        cancel,
      );
    },
    remembered: (sandboxId) => tables().policies.get(sandboxId),
    remember: (sandboxId, spec) => tables().policies.set(sandboxId, spec),
    search: (query) => tables().audit.search(query),
    [Symbol.dispose]() {
      isClosed = true;
      opened?.ledger[Symbol.dispose]();
      opened = undefined;
    },
  };
}
