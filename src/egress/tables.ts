import { z } from 'zod';
import { bindingSpecSchema, policySchema } from '../contract/egress-rules.ts';
import type { Chapter, Ledger } from '../ledger/ledger.ts';
import type { AuditRecord, EgressSpec } from '../seams/egress.ts';

/** The tables of the hatch in the ledger. */
export const egressChapter: Chapter = {
  name: 'egress',
  changes: [
    `CREATE TABLE egress_policies (
      sandbox_id TEXT PRIMARY KEY,
      spec TEXT NOT NULL,
      changed_at INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE egress_audit (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      at INTEGER NOT NULL,
      sandbox_id TEXT NOT NULL,
      user TEXT NOT NULL,
      via TEXT NOT NULL,
      verdict TEXT NOT NULL,
      rule TEXT NOT NULL,
      host TEXT NOT NULL,
      port INTEGER NOT NULL,
      method TEXT,
      path TEXT,
      address TEXT,
      status INTEGER,
      bytes_out INTEGER NOT NULL,
      bytes_in INTEGER NOT NULL,
      duration_ms INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX egress_audit_sandbox ON egress_audit (sandbox_id, id);
    CREATE INDEX egress_audit_user ON egress_audit (user, id);
    CREATE TABLE egress_secrets (
      user TEXT NOT NULL,
      name TEXT NOT NULL,
      sealed BLOB NOT NULL,
      created_at INTEGER NOT NULL,
      changed_at INTEGER NOT NULL,
      PRIMARY KEY (user, name)
    ) STRICT;
    CREATE TABLE egress_usage (
      day TEXT NOT NULL,
      user TEXT NOT NULL,
      sandbox_id TEXT NOT NULL,
      binding TEXT NOT NULL,
      model TEXT NOT NULL,
      calls INTEGER NOT NULL,
      input_tokens INTEGER NOT NULL,
      output_tokens INTEGER NOT NULL,
      cached_tokens INTEGER NOT NULL,
      cost_micros INTEGER NOT NULL,
      PRIMARY KEY (day, user, sandbox_id, binding, model)
    ) STRICT`,
    `CREATE TABLE egress_grants (
      user TEXT NOT NULL,
      sandbox_id TEXT,
      host TEXT NOT NULL,
      port INTEGER NOT NULL,
      private INTEGER NOT NULL,
      granted_at INTEGER NOT NULL,
      until INTEGER,
      approval TEXT NOT NULL
    ) STRICT;
    CREATE INDEX egress_grants_user ON egress_grants (user, host, port);
    CREATE TABLE egress_learned (
      sandbox_id TEXT NOT NULL,
      host TEXT NOT NULL,
      port INTEGER NOT NULL,
      private INTEGER NOT NULL,
      PRIMARY KEY (sandbox_id, host, port)
    ) STRICT`,
    `DROP TABLE egress_learned;
    CREATE TABLE egress_learned (
      sandbox_id TEXT NOT NULL,
      host TEXT NOT NULL,
      port INTEGER NOT NULL,
      private INTEGER NOT NULL,
      inspected INTEGER NOT NULL,
      method TEXT NOT NULL,
      path TEXT NOT NULL,
      PRIMARY KEY (sandbox_id, host, port, method, path)
    ) STRICT`,
    `CREATE TABLE egress_defaults (
      user TEXT PRIMARY KEY,
      spec TEXT NOT NULL,
      changed_at INTEGER NOT NULL
    ) STRICT`,
  ],
};

const specSchema = z.object({
  policy: policySchema,
  bindings: z.array(bindingSpecSchema),
});

/** Policies of persistent sandboxes. */
export class PolicyTable {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  get(sandboxId: string): EgressSpec | undefined {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT spec FROM egress_policies WHERE sandbox_id = ${sandboxId}`,
    );
    return row === undefined ? undefined : specIn(row.spec);
  }

  set(sandboxId: string, spec: EgressSpec | undefined): void {
    this.#ledger.write((sql) => {
      if (spec === undefined) return sql.run`DELETE FROM egress_policies WHERE sandbox_id = ${sandboxId}`;
      return sql.run`INSERT INTO egress_policies VALUES (${sandboxId}, ${JSON.stringify(spec)}, ${Date.now()})
        ON CONFLICT (sandbox_id) DO UPDATE SET spec = excluded.spec, changed_at = excluded.changed_at`;
    });
  }
}

/** Default policies that users have set. */
export class DefaultTable {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  get(user: string): EgressSpec | undefined {
    const row = this.#ledger.read((sql) => sql.get`SELECT spec FROM egress_defaults WHERE user = ${user}`);
    return row === undefined ? undefined : specIn(row.spec);
  }

  /** `undefined` deletes it. */
  set(user: string, spec: EgressSpec | undefined): void {
    this.#ledger.write((sql) => {
      if (spec === undefined) return sql.run`DELETE FROM egress_defaults WHERE user = ${user}`;
      return sql.run`INSERT INTO egress_defaults VALUES (${user}, ${JSON.stringify(spec)}, ${Date.now()})
        ON CONFLICT (user) DO UPDATE SET spec = excluded.spec, changed_at = excluded.changed_at`;
    });
  }
}

function specIn(stored: unknown): EgressSpec {
  return specSchema.parse(JSON.parse(String(stored))) as EgressSpec;
}

const auditSchema = z.object({
  at: z.number(),
  sandbox_id: z.string(),
  user: z.string(),
  via: z.enum(['http', 'connect', 'socks', 'bridge', 'binding', 'inspected']),
  verdict: z.enum(['allowed', 'denied', 'failed']),
  rule: z.string(),
  host: z.string(),
  port: z.number(),
  method: z.string().nullable(),
  path: z.string().nullable(),
  address: z.string().nullable(),
  status: z.number().nullable(),
  bytes_out: z.number(),
  bytes_in: z.number(),
  duration_ms: z.number(),
});

export function auditRecordOf(row: unknown): AuditRecord {
  const { sandbox_id, bytes_out, bytes_in, duration_ms, ...rest } = auditSchema.parse(row);
  return { ...rest, sandboxId: sandbox_id, bytesOut: bytes_out, bytesIn: bytes_in, durationMs: duration_ms };
}
