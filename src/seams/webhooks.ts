import type { User } from '../base/identity.ts';

/**
 * Calls of a user's own server when something happens to a sandbox of that user. Each event of the wanted types is
 * stored before it is sent, and sent until the server accepts it: at least once, over restarts of the host.
 */
export const webhookEvents = [
  'sandbox-start',
  'sandbox-pause',
  'sandbox-resume',
  'sandbox-hibernate',
  'sandbox-wake',
  'sandbox-checkpoint',
  'sandbox-fork',
  'sandbox-rename',
  'sandbox-stop',
  'sandbox-remove',
] as const;
export type WebhookEvent = (typeof webhookEvents)[number];

interface NewWebhook {
  readonly url: string;
  /** Default: all. */
  readonly events?: readonly WebhookEvent[] | undefined;
  /** Default true. While it is false, events are not stored for it. */
  readonly enabled?: boolean | undefined;
}

interface Webhook {
  readonly name: string;
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly enabled: boolean;
  readonly createdAt: number;
  /** The secret of the user that signs each call; `geode secrets set` replaces it. */
  readonly secret: string;
  /** Number of calls that are not accepted yet. */
  readonly waiting: number;
  /** Number of events that were dropped because too many were waiting. */
  readonly dropped: number;
  /** Why the latest attempt failed; null after a success. */
  readonly lastError: string | null;
}

export const deliveryStates = ['waiting', 'delivered', 'failed'] as const;

export interface WebhookDelivery {
  /** Sent as `webhook-id`. The same in every attempt, so that the server can recognise a repeated call. */
  readonly id: string;
  readonly event: WebhookEvent;
  /** `failed`: no attempt was accepted, and there is no further one. */
  readonly state: (typeof deliveryStates)[number];
  /** When the event happened. */
  readonly at: number;
  readonly attempts: number;
  /** The time of the next attempt; null after the last one. */
  readonly nextAt: number | null;
  /** HTTP status of the latest answer; null without one. */
  readonly status: number | null;
  readonly error: string | null;
}

export interface Webhooks {
  list(user: User): readonly Webhook[];
  /**
   * Creates or replaces. `signingSecret` is set if this call made one, and is shown nowhere else. Throws
   * `invalid_input` for an address that may not be called, `too_many_webhooks` if the user has the most already.
   */
  set(user: User, name: string, webhook: NewWebhook): Webhook & { readonly signingSecret: string | null };
  /** Removes the stored calls of the webhook too. Returns false if no webhook has this name. */
  remove(user: User, name: string): boolean;
  /** Newest first. Throws `webhook_not_found`. */
  deliveries(user: User, name: string, limit: number): readonly WebhookDelivery[];
}
