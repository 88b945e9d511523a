import type { Sql } from '../../ledger/connection.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Dialect } from './dialect.ts';
import { SqlBus } from './sql-bus.ts';
import { type Statement, type StatementResult, sql, type Work } from './statements.ts';

/** The bus in a ledger opened as `durable`, with the bus's tables. */
export class LedgerBus extends SqlBus {
  constructor(ledger: Ledger, now: () => number = Date.now) {
    const write = async <T>(work: (now: number) => Work<T>) =>
      ledger.write((connection) => perform(connection, work(now())));
    super({
      dialect: sqlite,
      read: async (work) => ledger.read((connection) => perform(connection, work)),
      write,
      change: write,
    });
  }
}

const sqlite: Dialect = {
  nextPosition: sql`(SELECT coalesce(max(position), 0) + 1 FROM bus_inbox)`,
  nextEpoch: sql`(SELECT coalesce(max(epoch), 0) + 1 FROM bus_inbox)`,
  forUpdate: sql``,
  index: (name) => ({ parts: [`INDEXED BY ${name}`], values: [] }),
  list: (values) => sql`SELECT value FROM json_each(${JSON.stringify(values)})`,
  // Keys are looked up by index.
  keyBegins: (start) => sql`key >= ${start} AND key < ${`${start}\u{10ffff}`}`,
  hosts: {
    *renew() {},
    isFree: () => sql`1 = 1`,
    *take() {},
    *forgetOthers() {},
  },
};

function perform<T>(connection: Sql, work: Work<T>): T {
  let step = work.next();
  while (!step.done) step = work.next(answer(connection, step.value));
  return step.value;
}

function answer(connection: Sql, { parts, values, gives }: Statement): StatementResult {
  const statement = connection.prepared(parts.join('?'));
  if (gives === 'rows') return { rows: statement.all(...values), changes: 0 };
  return { rows: [], changes: Number(statement.run(...values).changes) };
}
