import { z } from 'zod';
import type { Ledger } from '../../ledger/ledger.ts';
import type { EgressGrant, EgressTarget } from '../../seams/egress.ts';

/** Permissions that people gave when asked, for one sandbox or permanently. */
export class Grants {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** A later permission replaces an earlier one for the same target. */
  add(
    user: string,
    { host, port, sandboxId, private: isPrivate, grantedAt, until, approval }: EgressGrant,
  ): void {
    this.#ledger.write((sql) => {
      sql.run`DELETE FROM egress_grants
        WHERE user = ${user} AND sandbox_id IS ${sandboxId} AND host = ${host} AND port = ${port}`;
      sql.run`INSERT INTO egress_grants VALUES
        (${user}, ${sandboxId}, ${host}, ${port}, ${isPrivate ? 1 : 0}, ${grantedAt}, ${until}, ${approval})`;
    });
  }

  find(
    user: string,
    sandboxId: string,
    { host, port }: EgressTarget,
    now = Date.now(),
  ): EgressGrant | undefined {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT * FROM egress_grants
        WHERE user = ${user} AND (sandbox_id IS NULL OR sandbox_id = ${sandboxId})
          AND host = ${host} AND port = ${port} AND (until IS NULL OR until > ${now})
        ORDER BY sandbox_id IS NULL LIMIT 1`,
    );
    return row === undefined ? undefined : grantOf(row);
  }

  /** The valid permissions, newest first. */
  list(user: string, now = Date.now()): readonly EgressGrant[] {
    const rows = this.#ledger.read(
      (sql) => sql.all`SELECT * FROM egress_grants
        WHERE user = ${user} AND (until IS NULL OR until > ${now}) ORDER BY granted_at DESC, rowid DESC`,
    );
    return rows.map(grantOf);
  }

  /** Removes permissions of every sandbox of the user, and permanent ones. Returns how many there were. */
  remove(user: string, { host, port }: EgressTarget): number {
    const { changes } = this.#ledger.write(
      (sql) => sql.run`DELETE FROM egress_grants WHERE user = ${user} AND host = ${host} AND port = ${port}`,
    );
    return Number(changes);
  }

  /** Deletes the permissions of a removed sandbox. */
  forget(sandboxId: string): void {
    this.#ledger.write((sql) => sql.run`DELETE FROM egress_grants WHERE sandbox_id = ${sandboxId}`);
  }
}

const rowSchema = z.object({
  sandbox_id: z.string().nullable(),
  host: z.string(),
  port: z.number(),
  private: z.number(),
  granted_at: z.number(),
  until: z.number().nullable(),
  approval: z.string(),
});

function grantOf(row: unknown): EgressGrant {
  const { sandbox_id, granted_at, private: isPrivate, ...rest } = rowSchema.parse(row);
  return { ...rest, sandboxId: sandbox_id, grantedAt: granted_at, private: isPrivate === 1 };
}
