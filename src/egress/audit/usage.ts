import { costOf, type PriceTable, type TokenUsage } from '../../base/prices.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { budgetRefusal, dayOf, spentOn } from '../../ledger/spending.ts';

export interface UsageRecord extends TokenUsage {
  readonly user: string;
  readonly sandboxId: string;
  readonly binding: string;
  readonly model: string;
}

export interface UsageSum extends TokenUsage {
  readonly day: string;
  readonly user: string;
  readonly binding: string;
  readonly model: string;
  readonly calls: number;
  readonly costUsd: number;
}

/** Days end at midnight UTC. */
export interface BudgetFacts {
  readonly day: string;
  /** Null: no limit. */
  readonly limitUsd: number | null;
  /** Calls through bindings and Geode's own calls. */
  readonly spentUsd: number;
}

export interface UsageOptions {
  readonly prices: PriceTable;
  /** Budget of one user and day in US dollars; null: no limit. */
  readonly budgetPerDay: number | null;
  /** Token limit of one user and day, in and out together. */
  readonly tokensPerDay?: number | null;
}

/** Model use by day, user and sandbox, and the budget. */
export class UsageTable {
  readonly #ledger: Ledger;
  readonly #options: UsageOptions;
  readonly #now: () => Date;

  constructor(ledger: Ledger, options: UsageOptions, now: () => Date = () => new Date()) {
    this.#ledger = ledger;
    this.#options = options;
    this.#now = now;
  }

  add({ user, sandboxId, binding, model, ...tokens }: UsageRecord): void {
    const { prices } = this.#options;
    const cost = Math.ceil((costOf(model, tokens, prices) ?? dearest(tokens, prices)) * 1e6 - 1e-6);
    const { inputTokens, outputTokens, cachedTokens } = tokens;
    this.#ledger.write(
      (sql) => sql.run`INSERT INTO egress_usage VALUES
          (${this.#today()}, ${user}, ${sandboxId}, ${binding}, ${model}, 1, ${inputTokens}, ${outputTokens}, ${cachedTokens}, ${cost})
        ON CONFLICT (day, user, sandbox_id, binding, model) DO UPDATE SET calls = calls + 1,
          input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens,
          cached_tokens = cached_tokens + excluded.cached_tokens, cost_micros = cost_micros + excluded.cost_micros`,
    );
  }

  /** Today's usage. */
  budget(user: string): BudgetFacts {
    const day = this.#today();
    return { day, limitUsd: this.#options.budgetPerDay, spentUsd: spentOn(this.#ledger, user, day).usd };
  }

  /** Why a call must not be made; undefined if it may. */
  refusal(user: string): string | undefined {
    const { budgetPerDay: usd, tokensPerDay: tokens = null } = this.#options;
    return budgetRefusal(spentOn(this.#ledger, user, this.#today()), { usd, tokens });
  }

  ofUser(user: string, day = this.#today()): readonly UsageSum[] {
    const rows = this.#ledger.read(
      (
        sql,
      ) => sql.all`SELECT binding, model, sum(calls) AS calls, sum(input_tokens) AS input, sum(output_tokens) AS output,
          sum(cached_tokens) AS cached, sum(cost_micros) AS cost
        FROM egress_usage WHERE user = ${user} AND day = ${day} GROUP BY binding, model ORDER BY cost DESC`,
    );
    return rows.map((row) => ({
      day,
      user,
      binding: String(row.binding),
      model: String(row.model),
      calls: Number(row.calls),
      inputTokens: Number(row.input),
      outputTokens: Number(row.output),
      cachedTokens: Number(row.cached),
      costUsd: Number(row.cost) / 1e6,
    }));
  }

  #today(): string {
    return dayOf(this.#now());
  }
}

/** A model without a price counts as the most expensive one, so that a budget is never overrun unnoticed. */
function dearest(tokens: TokenUsage, prices: PriceTable): number {
  return Math.max(0, ...Object.keys(prices).map((model) => costOf(model, tokens, prices) ?? 0));
}
