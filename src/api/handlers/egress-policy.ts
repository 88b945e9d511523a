/** The network policy of one sandbox. */

import { GeodeError } from '../../base/errors.ts';
import type { egressPolicy } from '../../contract/egress-policy.ts';
import type { EgressHost } from '../../egress/open-egress.ts';
import { allowing, denying } from '../../egress/policy/change-policy.ts';
import { type EgressPolicy, type EgressSpec, reachesNothing } from '../../seams/egress.ts';
import type { Call } from '../call.ts';
import { changedEgress, egressOf } from '../egress-reach.ts';
import type { Handlers } from '../serve.ts';
import { egressStateOf } from './egress-state.ts';

export function egressPolicyHandlers(host: EgressHost): Handlers<typeof egressPolicy> {
  const change = async (call: Call, chat: string, next: (before: EgressSpec) => EgressSpec) => {
    const { sandboxes, signal } = call;
    const spec = await sandboxes.changeEgress(
      chat,
      (before) => changedEgress(call, host, before, next(before)),
      { signal },
    );
    return egressStateOf(spec);
  };
  const changePolicy = (call: Call, chat: string, next: (policy: EgressPolicy) => EgressPolicy) =>
    change(call, chat, ({ policy, bindings }) => ({ policy: next(policy), bindings }));
  return {
    get: async ({ chat }, { sandboxes }) => egressStateOf(await sandboxes.egress(chat)),
    set({ chat, ...asked }, call) {
      const wanted = egressOf(asked);
      return change(call, chat, () => wanted);
    },
    allow: ({ chat, rules, forMs }, call) =>
      changePolicy(call, chat, (policy) => allowing(policy, rules, untilOf(forMs))),
    deny: ({ chat, rules, forMs }, call) =>
      changePolicy(call, chat, (policy) => denying(policy, rules, untilOf(forMs))),
    ask: ({ chat, on }, call) =>
      changePolicy(call, chat, (policy) => ({
        ...policy,
        mode: on ? 'ask' : policy.allow.length === 0 ? 'deny-all' : 'allow-list',
      })),
    async learn({ chat }, call) {
      const { id } = await call.sandboxes.inspect(chat);
      host.beginLearning(id);
      return changePolicy(call, chat, (policy) => ({ ...policy, mode: 'learn' }));
    },
    async learned({ chat, apply }, call) {
      const { id } = await call.sandboxes.inspect(chat);
      const { policy, bindings } = (await call.sandboxes.egress(chat)) ?? reachesNothing;
      if (policy.mode !== 'learn')
        throw new GeodeError('invalid_input', 'No targets were recorded for this sandbox.', {
          hint: 'Start recording: geode egress learn CHAT',
        });
      if (!apply) return egressStateOf({ policy: host.learned(id, policy), bindings });
      const state = await changePolicy(call, chat, (before) => host.learned(id, before));
      host.beginLearning(id);
      return state;
    },
  };
}

function untilOf(forMs: number | undefined): number | undefined {
  return forMs === undefined ? undefined : Date.now() + forMs;
}
