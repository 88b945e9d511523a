import type { Ledger } from './ledger.ts';

/** Days for counting model costs. They end at midnight UTC. */
export function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

/** Daily model budget of each user; null: no limit. */
export interface DailyBudget {
  readonly usd: number | null;
  readonly tokens: number | null;
}

export interface Spending {
  readonly usd: number;
  /** Input and output together. */
  readonly tokens: number;
}

/** Why no model may be called; undefined if calls are allowed. */
export function budgetRefusal(spent: Spending, { usd, tokens }: DailyBudget): string | undefined {
  if (usd !== null && spent.usd >= usd)
    return `the budget for today is spent: $${spent.usd.toFixed(2)} of $${usd.toFixed(2)} (providers.daily_budget)`;
  if (tokens !== null && spent.tokens >= tokens)
    return `the tokens for today are spent: ${spent.tokens} of ${tokens} (providers.daily_tokens)`;
  return undefined;
}

/**
 * One user's spending on models on one day: Geode's own calls and calls through bindings. Budgets are compared with
 * this total. A part that never wrote to this ledger has spent nothing.
 */
export function spentOn(ledger: Ledger, user: string, day: string): Spending {
  return ledger.read((sql) => {
    const tables = new Set(
      sql.all`SELECT name FROM sqlite_master WHERE name IN ('model_usage', 'egress_usage')`.map(
        ({ name }) => name,
      ),
    );
    const direct = tables.has('model_usage')
      ? sql.get`SELECT sum(cost) AS cost, sum(input_tokens + output_tokens) AS tokens FROM model_usage
          WHERE user = ${user} AND day = ${day}`
      : undefined;
    const bound = tables.has('egress_usage')
      ? sql.get`SELECT sum(cost_micros) AS cost, sum(input_tokens + output_tokens) AS tokens FROM egress_usage
          WHERE user = ${user} AND day = ${day}`
      : undefined;
    return {
      usd: Number(direct?.cost ?? 0) + Number(bound?.cost ?? 0) / 1e6,
      tokens: Number(direct?.tokens ?? 0) + Number(bound?.tokens ?? 0),
    };
  });
}
