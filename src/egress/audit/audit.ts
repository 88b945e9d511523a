import type { Ledger } from '../../ledger/ledger.ts';
import type { AuditRecord } from '../../seams/egress.ts';
import { auditRecordOf } from '../tables.ts';

const longestPath = 1_024;
/** The number of records between two checks of the limits. */
const pruneEvery = 200;

export interface AuditLimits {
  readonly mostRecords: number;
  readonly keepMs: number;
}

export interface AuditQuery {
  readonly sandboxId?: string;
  readonly user?: string;
  readonly since?: number;
  readonly verdict?: AuditRecord['verdict'];
  /** Text in the host, the path or the rule. */
  readonly words?: string;
  /** Newest first; 100 by default. */
  readonly limit?: number;
}

/** Every allowed and refused request. Records are never changed, and are only deleted by age and number. */
export class EgressAudit {
  readonly #ledger: Ledger;
  readonly #limits: AuditLimits;
  #untilPrune = 0;

  constructor(ledger: Ledger, limits: AuditLimits) {
    this.#ledger = ledger;
    this.#limits = limits;
  }

  add(record: AuditRecord): void {
    const { at, sandboxId, user, via, verdict, rule, host, port, method, address, status } = record;
    const path = record.path?.slice(0, longestPath) ?? null;
    this.#ledger.write(
      (
        sql,
      ) => sql.run`INSERT INTO egress_audit (at, sandbox_id, user, via, verdict, rule, host, port, method, path,
          address, status, bytes_out, bytes_in, duration_ms)
        VALUES (${at}, ${sandboxId}, ${user}, ${via}, ${verdict}, ${rule}, ${host}, ${port}, ${method}, ${path},
          ${address}, ${status}, ${record.bytesOut}, ${record.bytesIn}, ${record.durationMs})`,
    );
    this.#untilPrune -= 1;
    if (this.#untilPrune > 0) return;
    this.#untilPrune = pruneEvery;
    this.#prune();
  }

  /** Newest first. */
  search({
    sandboxId,
    user,
    since = 0,
    verdict,
    words = '',
    limit = 100,
  }: AuditQuery = {}): readonly AuditRecord[] {
    const part = `%${words.replace(/[\\%_]/g, '\\$&')}%`;
    const rows = this.#ledger.read(
      (sql) => sql.all`SELECT * FROM egress_audit
        WHERE (${sandboxId ?? null} IS NULL OR sandbox_id = ${sandboxId ?? null})
          AND (${user ?? null} IS NULL OR user = ${user ?? null})
          AND (${verdict ?? null} IS NULL OR verdict = ${verdict ?? null})
          AND at >= ${since}
          AND (host LIKE ${part} ESCAPE '\\' OR coalesce(path, '') LIKE ${part} ESCAPE '\\' OR rule LIKE ${part} ESCAPE '\\')
        ORDER BY id DESC LIMIT ${limit}`,
    );
    return rows.map(auditRecordOf);
  }

  #prune(): void {
    const { mostRecords, keepMs } = this.#limits;
    this.#ledger.write((sql) => {
      sql.run`DELETE FROM egress_audit WHERE at < ${Date.now() - keepMs}`;
      sql.run`DELETE FROM egress_audit WHERE id <= (SELECT max(id) FROM egress_audit) - ${mostRecords}`;
    });
  }
}
