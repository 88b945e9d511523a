import { costOf, knownPrices, noUsage } from '../base/prices.ts';
import type { Config } from '../config/schema.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { Accounting } from '../models/accounting.ts';
import { openModels } from '../models/open-models.ts';
import type { Models } from '../seams/model.ts';
import { storedSecret } from './stored-secret.ts';

export interface ConfiguredModels extends Models {
  /** The providers in use. */
  readonly providers: Config['providers'];
  /** Uses these services and this default model from the next `get` on. */
  replace(providers: Config['providers']): void;
}

/** The models of the config. No provider is called until a model is used. */
export function openConfiguredModels(config: Config, ledger: Ledger): ConfiguredModels {
  let used = config.providers;
  let models = modelsOf(config, ledger);
  return {
    get: (name) => models.get(name),
    get providers() {
      return used;
    },
    replace(providers) {
      used = providers;
      models = modelsOf({ ...config, providers }, ledger);
    },
  };
}

function modelsOf(config: Config, ledger: Ledger): Models {
  const { providers } = config;
  const services = Object.entries(providers.services).map(([name, { kind, base_url, api_key, secret }]) => {
    const apiKey = secret === undefined ? api_key : () => storedSecret(config, secret);
    return [name, { kind, baseUrl: base_url, apiKey }] as const;
  });
  return openModels({
    services: Object.fromEntries(services),
    default: providers.default,
    cheap: providers.cheap,
    prices: providers.prices,
    accounting: new Accounting(ledger, providers.daily_budget, undefined, providers.daily_tokens),
    timeoutMs: providers.timeout * 1000,
    retries: providers.retries,
  });
}

/** The reason why a dollar budget does not limit this model; undefined if it does. */
export function missingPrice({ providers }: Pick<Config, 'providers'>, model: string): string | undefined {
  if (providers.daily_budget === null) return undefined;
  if (costOf(model, noUsage, { ...knownPrices, ...providers.prices }) !== null) return undefined;
  return `${model} has no price, so the daily budget in dollars does not limit it: set providers.prices, or providers.daily_tokens.`;
}
