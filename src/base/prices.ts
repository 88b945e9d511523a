/** Prices of models. Every part that counts money uses this table; prices in the config override it. */

/** Tokens of one call. `cachedTokens` are part of `inputTokens`. */
export interface TokenUsage {
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
}

export const noUsage: TokenUsage = { inputTokens: 0, cachedTokens: 0, outputTokens: 0 };

export function addUsage(a: TokenUsage, b: TokenUsage): TokenUsage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    outputTokens: a.outputTokens + b.outputTokens,
  };
}

/** US dollars per million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  /** Input from the provider's cache; same as `input` if left out. */
  readonly cached?: number | undefined;
}

/** Matched by the start of the model's name; the longest match counts. */
export type PriceTable = Readonly<Record<string, Price>>;

export const knownPrices: PriceTable = {
  'claude-opus': { input: 5, output: 25, cached: 0.5 },
  'claude-sonnet': { input: 3, output: 15, cached: 0.3 },
  'claude-haiku': { input: 1, output: 5, cached: 0.1 },
  'gpt-5': { input: 1.25, output: 10, cached: 0.125 },
  'gpt-5-mini': { input: 0.25, output: 2, cached: 0.025 },
  'gpt-5-nano': { input: 0.05, output: 0.4, cached: 0.005 },
  'gpt-4.1': { input: 2, output: 8, cached: 0.5 },
  'gpt-4o': { input: 2.5, output: 10, cached: 1.25 },
  'gpt-4o-mini': { input: 0.15, output: 0.6, cached: 0.075 },
  'gemini-2.5-pro': { input: 1.25, output: 10, cached: 0.31 },
  'gemini-2.5-flash': { input: 0.3, output: 2.5, cached: 0.075 },
};

/** In US dollars; null for a model without a price in the table. */
export function costOf(model: string, usage: TokenUsage, table: PriceTable = knownPrices): number | null {
  const name = model.slice(model.lastIndexOf('/') + 1);
  const prefixes = Object.keys(table).filter((prefix) => name.startsWith(prefix) || model === prefix);
  const [longest] = prefixes.sort((a, b) => b.length - a.length);
  const price = longest === undefined ? undefined : table[longest];
  if (price === undefined) return null;
  const fresh = Math.max(0, usage.inputTokens - usage.cachedTokens);
  const dollars =
    fresh * price.input +
    usage.cachedTokens * (price.cached ?? price.input) +
    usage.outputTokens * price.output;
  return dollars / 1_000_000;
}
