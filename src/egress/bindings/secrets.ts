import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { GeodeError } from '../../base/errors.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { KeyFile, seal, unseal } from './seal.ts';

const longestValue = 16 * 1024;

export interface SecretFacts {
  readonly name: string;
  readonly createdAt: number;
  readonly changedAt: number;
}

const rowSchema = z.object({
  user: z.string(),
  name: z.string(),
  sealed: z.instanceof(Uint8Array),
  created_at: z.number(),
  changed_at: z.number(),
});

/** Credentials of users, sealed in the ledger with a key in another file. No call shows one to a person. */
export class Secrets {
  readonly #ledger: Ledger;
  readonly #keys: KeyFile;

  constructor(ledger: Ledger, keyFile: string) {
    this.#ledger = ledger;
    this.#keys = new KeyFile(keyFile);
  }

  set(user: string, name: string, value: string): void {
    checkSecret(name, value);
    const sealed = seal(this.#keys.current(), aboutOf(user, name), value);
    const now = Date.now();
    this.#ledger.write(
      (sql) => sql.run`INSERT INTO egress_secrets VALUES (${user}, ${name}, ${sealed}, ${now}, ${now})
        ON CONFLICT (user, name) DO UPDATE SET sealed = excluded.sealed, changed_at = excluded.changed_at`,
    );
  }

  list(user: string): readonly SecretFacts[] {
    return this.#rows()
      .filter((row) => row.user === user)
      .map(({ name, created_at, changed_at }) => ({ name, createdAt: created_at, changedAt: changed_at }));
  }

  /** Returns false if there is no such secret. */
  remove(user: string, name: string): boolean {
    const { changes } = this.#ledger.write(
      (sql) => sql.run`DELETE FROM egress_secrets WHERE user = ${user} AND name = ${name}`,
    );
    return Number(changes) > 0;
  }

  /** For the broker and the host's own channels. Undefined if no secret has that name. */
  reveal(user: string, name: string): string | undefined {
    const row = this.#rows().find((candidate) => candidate.user === user && candidate.name === name);
    return row === undefined ? undefined : this.#open(row);
  }

  /** All values, to remove them from shown text. Leaves out a value that cannot be decrypted. */
  values(user: string | null): readonly string[] {
    const rows = this.#rows().filter((row) => user === null || row.user === user);
    const keys = rows.length === 0 ? [] : (this.#keys.read() ?? []);
    return rows.flatMap((row) => {
      const about = aboutOf(row.user, row.name);
      const opened = keys.map((key) => unseal(key, about, Buffer.from(row.sealed)));
      return opened.filter((value) => value !== undefined).slice(0, 1);
    });
  }

  /**
   * Seals all secrets with a new key and returns the number of users' secrets. A host killed half-way leaves both
   * keys in the file.
   */
  rotate(): number {
    const old = this.#keys.read() ?? [];
    const next = randomBytes(32);
    this.#keys.write([next, ...old]);
    const rows = this.#rows();
    this.#ledger.write((sql) => {
      for (const row of rows) {
        const sealed = seal(next, aboutOf(row.user, row.name), this.#open(row));
        sql.run`UPDATE egress_secrets SET sealed = ${sealed} WHERE user = ${row.user} AND name = ${row.name}`;
      }
    });
    this.#keys.write([next]);
    return rows.filter(({ user }) => !user.startsWith(' ')).length;
  }

  #open({ user, name, sealed }: z.infer<typeof rowSchema>): string {
    const keys = this.#keys.read() ?? [];
    for (const key of keys) {
      const value = unseal(key, aboutOf(user, name), Buffer.from(sealed));
      if (value !== undefined) return value;
    }
    throw new GeodeError(
      'invalid_config',
      `The secret ${name} cannot be decrypted: its key is missing or was replaced.`,
      {
        hint: `Restore the right key file, or set the secret again: geode secrets set ${name}`,
      },
    );
  }

  #rows(): readonly z.infer<typeof rowSchema>[] {
    return this.#ledger
      .read((sql) => sql.all`SELECT * FROM egress_secrets ORDER BY user, name`)
      .map((row) => rowSchema.parse(row));
  }
}

function aboutOf(user: string, name: string): string {
  return JSON.stringify([user, name]);
}

/** It becomes a header, so invalid header characters are refused. */
function checkSecret(name: string, value: string): void {
  if (!/^[a-z0-9][a-z0-9-]{0,47}$/.test(name))
    throw new GeodeError(
      'invalid_input',
      `${JSON.stringify(name)} is not a valid secret name: use a-z, 0-9 and "-".`,
    );
  if (!/^[\x21-\x7e]{8,}$/.test(value) || value.length > longestValue)
    throw new GeodeError(
      'invalid_input',
      'A secret needs at least 8 printable characters and no white space.',
    );
}
