/** Writes and reads how often entries are recalled, and whether that helped. */
import type { UseOutcome } from '../../seams/memory.ts';
import { numberOf } from './columns.ts';
import type { Sql } from './truth.ts';

/** Adds to the counts. An entry that was removed in the meantime is left out. */
export function addRecalls(sql: Sql, counts: ReadonlyMap<number, number>, now: number): void {
  for (const [id, count] of counts) {
    sql.run`
      INSERT INTO uses (entry, recalled, last_recalled) SELECT id, ${count}, ${now} FROM entries WHERE id = ${id}
      ON CONFLICT DO UPDATE SET recalled = recalled + excluded.recalled, last_recalled = excluded.last_recalled`;
  }
}

export function addOutcome(sql: Sql, namespace: string, keys: readonly string[], outcome: UseOutcome): void {
  const helped = outcome === 'helped' ? 1 : 0;
  sql.run`
    INSERT INTO uses (entry, helped, hurt) SELECT id, ${helped}, ${1 - helped} FROM entries
      WHERE namespace = ${namespace} AND key IN (SELECT value FROM json_each(${JSON.stringify(keys)}))
    ON CONFLICT DO UPDATE SET helped = helped + excluded.helped, hurt = hurt + excluded.hurt`;
}

/** The entries of these that hurt an attempt, each with the factor on its score. */
export function trustOfEntries(sql: Sql, ids: readonly number[]): Map<number, number> {
  return new Map(
    sql.all`
      SELECT entry, helped, hurt FROM uses
      WHERE hurt > helped AND entry IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`.map((row) => [
      numberOf(row, 'entry'),
      trustOf(numberOf(row, 'helped'), numberOf(row, 'hurt')),
    ]),
  );
}

/** Attempts with the same weight as no experience at all: one failure takes little, many halve the score. */
const DOUBT = 4;

function trustOf(helped: number, hurt: number): number {
  return (helped + DOUBT) / (hurt + DOUBT);
}

/** When this memory began to count. */
export function usesSince(sql: Sql): number {
  return Number(sql.get`SELECT value FROM meta WHERE name = 'uses since'`?.value ?? 0);
}
