import { GeodeError } from '../base/errors.ts';
import type { TokenUsage } from '../base/prices.ts';
import type { Chapter, Ledger } from '../ledger/ledger.ts';
import { budgetRefusal, type DailyBudget, dayOf, spentOn } from '../ledger/spending.ts';

export const modelChapter: Chapter = {
  name: 'models',
  changes: [
    `CREATE TABLE model_usage (
      user TEXT NOT NULL,
      day TEXT NOT NULL,
      model TEXT NOT NULL,
      calls INTEGER NOT NULL,
      input_tokens INTEGER NOT NULL,
      cached_tokens INTEGER NOT NULL,
      output_tokens INTEGER NOT NULL,
      cost REAL NOT NULL,
      PRIMARY KEY (user, day, model)
    ) STRICT`,
  ],
};

/** The spending of one user on one model on one day (UTC). */
export interface ModelSpending extends TokenUsage {
  readonly user: string;
  readonly day: string;
  readonly model: string;
  readonly calls: number;
  readonly cost: number;
}

/** Counts the usage of models, and refuses a call in advance when the day's budget is spent. */
export class Accounting {
  readonly #ledger: Ledger;
  readonly #budget: DailyBudget;
  readonly #now: () => Date;

  /** US dollars and tokens for each user and day; null: no limit. */
  constructor(
    ledger: Ledger,
    usd: number | null,
    now: () => Date = () => new Date(),
    tokens: number | null = null,
  ) {
    this.#ledger = ledger;
    this.#budget = { usd, tokens };
    this.#now = now;
  }

  checkBudget(user: string): void {
    const refusal = budgetRefusal(spentOn(this.#ledger, user, this.#day()), this.#budget);
    if (refusal !== undefined) throw new GeodeError('budget_spent', `${user}: ${refusal}.`);
  }

  record(user: string, model: string, usage: TokenUsage, cost: number | null): void {
    const { inputTokens, cachedTokens, outputTokens } = usage;
    this.#ledger.write(
      (sql) => sql.run`INSERT INTO model_usage
        VALUES (${user}, ${this.#day()}, ${model}, 1, ${inputTokens}, ${cachedTokens}, ${outputTokens}, ${cost ?? 0})
        ON CONFLICT DO UPDATE SET calls = calls + 1, input_tokens = input_tokens + excluded.input_tokens,
          cached_tokens = cached_tokens + excluded.cached_tokens,
          output_tokens = output_tokens + excluded.output_tokens, cost = cost + excluded.cost`,
    );
  }

  /** Includes the spending of sandboxes through bindings. */
  spentToday(user: string): number {
    return spentOn(this.#ledger, user, this.#day()).usd;
  }

  /** Newest day first. */
  spending(user: string): readonly ModelSpending[] {
    return this.#ledger
      .read(
        (sql) => sql.all`SELECT * FROM model_usage WHERE user = ${user} ORDER BY day DESC, model LIMIT 1000`,
      )
      .map((row) => ({
        user: String(row.user),
        day: String(row.day),
        model: String(row.model),
        calls: Number(row.calls),
        inputTokens: Number(row.input_tokens),
        cachedTokens: Number(row.cached_tokens),
        outputTokens: Number(row.output_tokens),
        cost: Number(row.cost),
      }));
  }

  #day(): string {
    return dayOf(this.#now());
  }
}
