/** Network requests and model costs of the caller's sandboxes and runs, and the available bindings. */
import type { egress } from '../../contract/egress.ts';
import { knownBindings } from '../../egress/bindings/bindings.ts';
import type { EgressDefault, EgressHost } from '../../egress/open-egress.ts';
import { refuseUnlessOwnSocket } from '../call.ts';
import { newEgress } from '../egress-reach.ts';
import type { Handlers } from '../serve.ts';
import { egressStateOf } from './egress-state.ts';

export function egressHandlers(host: EgressHost): Handlers<typeof egress> {
  return {
    log({ sandbox, users, ...asked }, call) {
      if (users === 'all') refuseUnlessOwnSocket(call, 'The log of all users is shown');
      return host.search({
        ...asked,
        ...(users !== 'all' && { user: call.caller.user }),
        ...(sandbox !== undefined && { sandboxId: sandbox }),
      });
    },
    usage: ({ day }, { caller: { user } }) => ({ usage: host.usage(user, day), budget: host.budget(user) }),
    bindings(_, { caller }) {
      const known = new Set(host.secrets.list(caller.user).map(({ name }) => name));
      return knownBindings().map((binding) => ({
        ...binding,
        ready: !binding.needsSecret || known.has(binding.name),
      }));
    },
    default: (_, { caller }) => shownDefault(host.defaultOf(caller.user)),
    setDefault(asked, call) {
      const { user } = call.caller;
      host.setDefault(user, newEgress(call, host, asked));
      return shownDefault(host.defaultOf(user));
    },
    clearDefault(_, { caller: { user } }) {
      host.setDefault(user, undefined);
      return shownDefault(host.defaultOf(user));
    },
    grants: (_, { caller }) => host.grants(caller.user),
    removeGrant: (target, { caller }) => host.removeGrant(caller.user, target),
  };
}

function shownDefault({ from, spec }: EgressDefault) {
  return { from, ...egressStateOf(spec) };
}
