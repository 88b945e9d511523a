import { z } from 'zod';
import { providerKinds } from '../seams/model.ts';
import { count, positive, price } from './setting-types.ts';

export const providersSettings = z
  .strictObject({
    services: z
      .record(
        z.string().regex(/^[a-z0-9][a-z0-9_-]*$/, 'a name has lower-case letters, digits, - and _'),
        z.strictObject({
          kind: z.enum(providerKinds).describe('API of the provider'),
          base_url: z.url().optional().describe('address for openai-compatible: Ollama, vLLM, OpenRouter, …'),
          api_key: z.string().min(1).optional().describe('its key'),
          secret: z
            .string()
            .min(1)
            .optional()
            .describe('secret with the key, instead of api_key: geode secrets set'),
        }),
      )
      .default({})
      .describe('model providers by name'),
    default: z.string().min(1).optional().describe('default model: SERVICE/MODEL'),
    cheap: z
      .string()
      .min(1)
      .optional()
      .describe('cheap model for reflection and tags (default: the default model)'),
    timeout: positive.default(120).describe('timeout of an answer in seconds, retries included'),
    retries: count.default(2).describe('retries after a rate limit or failure'),
    daily_budget: z
      .number()
      .nonnegative()
      .nullable()
      .default(null)
      .describe('budget per user and day (UTC) in US dollars; null: no limit'),
    daily_tokens: count
      .nullable()
      .default(null)
      .describe('maximum tokens per user and day (UTC), in and out; null: no limit'),
    prices: z
      .record(z.string(), z.strictObject({ input: price, output: price, cached: price.optional() }))
      .default({})
      .describe('prices by model in US dollars per million tokens; override known prices'),
  })
  .prefault({});
