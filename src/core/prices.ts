/** US dollars for a million tokens. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  /** Input that the provider had kept from before. */
  readonly cachedInput: number;
}

/** Tokens of one call, as its answer says. `input` counts the cached ones too. */
export interface TokenUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
}

export type PriceTable = Readonly<Record<string, ModelPrice>>;

/** By the beginning of a model's name; the longest beginning counts. The config can replace and add lines. */
export const modelPrices: PriceTable = {
  'claude-opus': { input: 15, output: 75, cachedInput: 1.5 },
  'claude-sonnet': { input: 3, output: 15, cachedInput: 0.3 },
  'claude-haiku': { input: 1, output: 5, cachedInput: 0.1 },
  'claude-3-5-haiku': { input: 0.8, output: 4, cachedInput: 0.08 },
  'gpt-5': { input: 1.25, output: 10, cachedInput: 0.125 },
  'gpt-5-mini': { input: 0.25, output: 2, cachedInput: 0.025 },
  'gpt-4.1': { input: 2, output: 8, cachedInput: 0.5 },
  'gpt-4o': { input: 2.5, output: 10, cachedInput: 1.25 },
  'gpt-4o-mini': { input: 0.15, output: 0.6, cachedInput: 0.075 },
  o3: { input: 2, output: 8, cachedInput: 0.5 },
};

/** Of a model that no line names: as much as the dearest, so that a budget is never overrun unseen. */
function dearest(table: PriceTable): ModelPrice {
  const prices = Object.values(table);
  const most = (part: keyof ModelPrice) => Math.max(0, ...prices.map((price) => price[part]));
  return { input: most('input'), output: most('output'), cachedInput: most('cachedInput') };
}

/** In millionths of a dollar, rounded up. */
export function costMicros(model: string, usage: TokenUsage, table: PriceTable = modelPrices): number {
  // "anthropic/claude-sonnet-4" at a reseller is the same model.
  const name = model.slice(model.lastIndexOf('/') + 1);
  const known = Object.keys(table).filter((beginning) => name.startsWith(beginning));
  const [longest] = known.sort((a, b) => b.length - a.length);
  const price = (longest === undefined ? undefined : table[longest]) ?? dearest(table);
  const fresh = Math.max(0, usage.inputTokens - usage.cachedTokens);
  return Math.ceil(
    fresh * price.input + usage.cachedTokens * price.cachedInput + usage.outputTokens * price.output,
  );
}
