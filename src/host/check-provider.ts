/** Tries a provider with one real call before its settings are saved. */
import type { Cancel } from '../base/cancel.ts';
import { localUser } from '../base/identity.ts';
import { openModels } from '../models/open-models.ts';
import type { ModelAnswer } from '../seams/model.ts';
import type { ProviderSettings } from '../seams/provider-setup.ts';

const timeoutMs = 30_000;

/** The model's answer, with its cost. Throws the errors of the model seam: `provider_refused`, `provider_unreachable`, … */
export async function checkProvider(
  { service, kind, baseUrl, key, model }: ProviderSettings,
  cancel: Cancel = {},
): Promise<Pick<ModelAnswer, 'text' | 'cost'>> {
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
  const { text, cost } = await models.get(`${service}/${model}`).ask(asked, cancel);
  return { text: text.trim(), cost };
}
