import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { GeodeError, reasonOf } from '../../../base/errors.ts';
import type { Log } from '../../../base/log.ts';
import type { Webhook } from '../../../seams/channel.ts';

export interface WhatsAppWebhookOptions {
  readonly appSecret: string;
  readonly verifyToken: string;
  /** Stores the content of one change. */
  readonly take: (value: WhatsAppChange) => Promise<void>;
  readonly log: Log;
}

const contactSchema = z.looseObject({
  wa_id: z.string().optional(),
  user_id: z.string().optional(),
  profile: z.looseObject({ name: z.string() }).optional(),
});

const changeSchema = z.looseObject({
  metadata: z.looseObject({ phone_number_id: z.string() }),
  contacts: z.array(contactSchema).default([]),
  /** Parse each one separately, so that an invalid one does not affect the others. */
  messages: z.array(z.unknown()).default([]),
  statuses: z.array(z.unknown()).default([]),
});
export type WhatsAppChange = z.infer<typeof changeSchema>;

const bodySchema = z.looseObject({
  entry: z.array(
    z.looseObject({ changes: z.array(z.looseObject({ field: z.string(), value: z.unknown().optional() })) }),
  ),
});

/** The webhook that Meta calls. Meta repeats a call for days unless it gets 200, so signed but invalid messages are skipped. */
export function whatsAppWebhook({ appSecret, verifyToken, take, log }: WhatsAppWebhookOptions): Webhook {
  return {
    confirm({ mode, token, challenge }) {
      if (mode === 'subscribe' && isSame(token, verifyToken)) return challenge;
      throw new GeodeError('unauthorized', 'The verify token differs from channels.whatsapp', {
        hint: 'Enter at Meta the text that is stored as the secret of channels.whatsapp.verify_secret.',
      });
    },
    async take(body, signature = '') {
      const expected = `sha256=${createHmac('sha256', appSecret).update(body).digest('hex')}`;
      if (!isSame(signature, expected))
        throw new GeodeError('unauthorized', "The call is not signed with the app's secret", {
          hint: "Store Meta's app secret as the secret of channels.whatsapp.app_secret.",
        });
      for (const value of changesIn(body, log)) await take(value);
    },
  };
}

function changesIn(body: Uint8Array, log: Log): readonly WhatsAppChange[] {
  try {
    const { entry } = bodySchema.parse(JSON.parse(new TextDecoder().decode(body)));
    return entry
      .flatMap(({ changes }) => changes)
      .filter(({ field }) => field === 'messages')
      .map(({ value }) => changeSchema.parse(value));
  } catch (error) {
    log.warn(`Skipped an invalid change from WhatsApp: ${reasonOf(error).slice(0, 200)}`);
    return [];
  }
}

/** Compares in constant time. */
function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
