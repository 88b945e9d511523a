import type { webhooks } from '../contract/webhooks.ts';
import { type Calls, callsOf } from './calls.ts';
import type { ApiConnection } from './send.ts';

/** Calls of the user's own server when something happens to a sandbox. */
export type RemoteWebhooks = Calls<typeof webhooks>;

export function remoteWebhooks(connection: ApiConnection): RemoteWebhooks {
  return callsOf(connection, 'webhooks');
}
