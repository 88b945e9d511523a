import type { Config } from '../config/schema.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { Accounting } from '../models/accounting.ts';
import { openModels } from '../models/open-models.ts';
import type { Models } from '../seams/model.ts';
import { storedSecret } from './stored-secret.ts';

/** The models of the config. No provider is called until a model is used. */
export function openConfiguredModels(config: Config, ledger: Ledger): Models {
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
