import { z } from 'zod';
import { positive } from './setting-types.ts';

export const webhookSettings = z
  .strictObject({
    private: z
      .array(z.string().min(1))
      .default([])
      .describe(
        'private addresses that webhooks may call, with their port: ["127.0.0.1:8080", "hooks.internal:443"]',
      ),
    timeout: positive
      .max(300)
      .default(15)
      .describe('seconds that the server of a webhook has for its answer'),
    waiting: positive
      .int()
      .default(1000)
      .describe('calls of one webhook that may wait; of more, the oldest are dropped'),
  })
  .prefault({});
