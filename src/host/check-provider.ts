/** Tries a provider with one real call before its settings are saved. */
import type { Cancel } from '../base/cancel.ts';
import { localUser } from '../base/identity.ts';
import { openModels } from '../models/open-models.ts';
import type { ProviderKind } from '../seams/model.ts';

export interface ProviderTrial {
  /** The name of the service. */
  readonly service: string;
  readonly kind: ProviderKind;
  readonly baseUrl?: string | undefined;
  readonly key?: string | undefined;
  readonly model: string;
}

const timeoutMs = 30_000;

/** Returns the model's answer. Throws the errors of the model seam: `provider_refused`, `provider_unreachable`, … */
export async function checkProvider(trial: ProviderTrial, cancel: Cancel = {}): Promise<string> {
  const { service, kind, baseUrl, key, model } = trial;
  const models = openModels({
    services: { [service]: { kind, baseUrl, apiKey: key } },
    prices: {},
    // One call of a few tokens is not counted.
    accounting: { checkBudget() {}, record() {} },
    timeoutMs,
    retries: 0,
  });
  const messages = [{ role: 'user', text: 'Answer with the word ready.' }] as const;
  const asked = { user: localUser, messages, maxOutputTokens: 64 };
  return (await models.get(`${service}/${model}`).ask(asked, cancel)).text.trim();
}
