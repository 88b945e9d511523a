/** Credentials of the caller. No answer contains a value. */
import type { secrets } from '../../contract/secrets.ts';
import type { EgressHost } from '../../egress/open-egress.ts';
import type { Handlers } from '../serve.ts';

export function secretHandlers(store: EgressHost['secrets']): Handlers<typeof secrets> {
  return {
    list: (_, { caller }) => store.list(caller.user),
    set({ name, value }, { caller }) {
      store.set(caller.user, name, value);
    },
    remove: ({ name }, { caller }) => store.remove(caller.user, name),
    rotate: () => store.rotate(),
  };
}
