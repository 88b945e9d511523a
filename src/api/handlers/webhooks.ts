import type { webhooks } from '../../contract/webhooks.ts';
import type { Webhooks } from '../../seams/webhooks.ts';
import type { Handlers } from '../serve.ts';

export function webhookHandlers(store: Webhooks): Handlers<typeof webhooks> {
  return {
    list: (_, { caller }) => store.list(caller.user),
    set: ({ webhook, ...given }, { caller }) => store.set(caller.user, webhook, given),
    remove: ({ webhook }, { caller }) => store.remove(caller.user, webhook),
    deliveries: ({ webhook, limit }, { caller }) => store.deliveries(caller.user, webhook, limit),
  };
}
