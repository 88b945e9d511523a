import { gunzipSync, gzipSync } from 'node:zlib';
import { z } from 'zod';
import type { Ledger } from '../../ledger/ledger.ts';
import type { TapedCall } from '../../seams/tapes.ts';

const headSchema = z.object({
  binding: z.object({ name: z.string(), base: z.string() }).nullable(),
  method: z.string(),
  path: z.string(),
  model: z.string().nullable(),
  status: z.int().min(100).max(599),
  reason: z.string(),
  fields: z.array(z.string()),
});

/** The recorded calls of turns through bindings, in the ledger. The oldest turns are deleted when there are too many. */
export class CallTable {
  readonly #ledger: Ledger;
  readonly #mostBytes: number;

  constructor(ledger: Ledger, mostBytes: number) {
    this.#ledger = ledger;
    this.#mostBytes = mostBytes;
  }

  get isOff(): boolean {
    return this.#mostBytes === 0;
  }

  add(turn: string, { body, ...head }: TapedCall): void {
    const packed = gzipSync(body);
    this.#ledger.write((sql) => {
      const last = sql.get`SELECT max(number) AS number FROM agent_calls WHERE turn = ${turn}`;
      sql.run`INSERT INTO agent_calls VALUES (${turn}, ${Number(last?.number ?? 0) + 1},
        ${JSON.stringify(head)}, ${packed}, ${packed.length}, ${Date.now()})`;
      for (;;) {
        const sum = sql.get`SELECT sum(bytes) AS bytes FROM agent_calls`;
        if (Number(sum?.bytes ?? 0) <= this.#mostBytes) return;
        sql.run`DELETE FROM agent_calls WHERE turn = (SELECT turn FROM agent_calls ORDER BY at LIMIT 1)`;
      }
    });
  }

  count(turn: string): number {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT count(*) AS count FROM agent_calls WHERE turn = ${turn}`,
    );
    return Number(row?.count ?? 0);
  }

  of(turn: string): readonly TapedCall[] {
    return this.#ledger
      .read((sql) => sql.all`SELECT head, body FROM agent_calls WHERE turn = ${turn} ORDER BY number`)
      .map(({ head, body }) => ({
        ...headSchema.parse(JSON.parse(String(head))),
        body: gunzipSync(body as Uint8Array),
      }));
  }
}
