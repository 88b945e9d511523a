/** Model providers of the host, in wire format. */
import { z } from 'zod';
import { providerKinds } from '../seams/model.ts';
import { family } from './operation.ts';

const printable = /^[\x21-\x7e]+$/;

const providerSchema = z
  .strictObject({
    service: z
      .string()
      .regex(/^[a-z0-9][a-z0-9_-]{0,47}$/)
      .describe('Its name in the config.')
      .meta({ example: 'anthropic' }),
    kind: z.enum(providerKinds).describe('API of the provider.'),
    base_url: z
      .url({ protocol: /^https?$/ })
      .max(2048)
      .optional()
      .describe('Address of the API; required for `openai-compatible`. Default: the configured one.'),
    key: z
      .string()
      .min(8)
      .max(16_384)
      .regex(printable)
      .optional()
      .describe('Its API key. Default: the stored key, but only for the configured kind and address.'),
    model: z.string().min(1).max(200).regex(printable).meta({ example: 'claude-sonnet-4-5' }),
  })
  .meta({ id: 'Provider' });

const triedSchema = z
  .object({
    text: z.string().describe('The answer of the model.'),
    duration_ms: z.number(),
    cost: z.number().nullable().describe('In US dollars; null if the price is unknown.'),
  })
  .meta({ id: 'ProviderTrial' });

const connectedSchema = z
  .object({
    model: z.string().describe('The default model now: SERVICE/MODEL.'),
    file: z.string().describe("The config file on the host's machine."),
    warning: z.string().nullable().describe('What is still missing, such as a price for the daily budget.'),
  })
  .meta({ id: 'ConnectedProvider' });

export const providers = family({
  /** Throws the errors of the model seam: `provider_refused`, `provider_unreachable`, … */
  test: {
    route: 'POST /api/v1/providers/test',
    tag: 'server',
    scope: 'admin',
    summary: 'Test a model provider with one short call',
    description: 'Saves nothing. Stops when the caller disconnects, at the latest after 30 seconds.',
    body: { description: 'The provider.', schema: providerSchema },
    answer: { description: 'The model answers.', schema: triedSchema },
    refuses: {
      409: 'There is no key.',
      502: 'The provider refuses the call, or does not answer.',
      504: 'The provider does not answer in time.',
    },
  },
  /** Throws `setting_overridden` if a variable sets the providers. */
  connect: {
    route: 'POST /api/v1/providers',
    tag: 'server',
    scope: 'admin',
    summary: 'Connect a model provider and use its model by default',
    description:
      'Writes the config file and keeps its comments; the key becomes a secret of the operator. The host uses it from the next call of a model on. Does not test it.',
    body: { description: 'The provider.', schema: providerSchema },
    answer: { description: 'The host uses it now.', schema: connectedSchema },
    refuses: { 409: 'A variable of the environment sets the providers.' },
  },
});
