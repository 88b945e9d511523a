import type { Ledger } from './ledger.ts';

/** Of the days on which what is spent on models is counted. They end at midnight UTC. */
export function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

/**
 * What one user spent on models on one day, in US dollars: in calls of Geode's own and through bindings of sandboxes.
 * The one sum that a budget is held against. A part that never wrote to this ledger has spent nothing.
 */
export function spentOn(ledger: Ledger, user: string, day: string): number {
  return ledger.read((sql) => {
    const tables = new Set(
      sql.all`SELECT name FROM sqlite_master WHERE name IN ('model_usage', 'egress_usage')`.map(
        ({ name }) => name,
      ),
    );
    const direct = tables.has('model_usage')
      ? sql.get`SELECT sum(cost) AS cost FROM model_usage WHERE user = ${user} AND day = ${day}`
      : undefined;
    const bound = tables.has('egress_usage')
      ? sql.get`SELECT sum(cost_micros) AS cost FROM egress_usage WHERE user = ${user} AND day = ${day}`
      : undefined;
    return Number(direct?.cost ?? 0) + Number(bound?.cost ?? 0) / 1e6;
  });
}
