/** Checks which network policy a caller may give to a sandbox. */
import { isDeepStrictEqual } from 'node:util';
import { GeodeError } from '../base/errors.ts';
import { parseBinding } from '../contract/egress-bindings.ts';
import type { EgressHost } from '../egress/open-egress.ts';
import { alsoDenying, type PolicyWords, policyFrom } from '../egress/policy/change-policy.ts';
import { narrowedTo } from '../egress/policy/within.ts';
import { type BindingSpec, type EgressSpec, reachesNothing } from '../seams/egress.ts';
import { type Call, isOperator } from './call.ts';

interface AskedEgress extends PolicyWords {
  readonly bindings?: readonly (string | BindingSpec)[];
}

export function egressOf({ bindings = [], ...words }: AskedEgress): EgressSpec {
  return {
    policy: policyFrom(words),
    bindings: bindings.map((binding) => (typeof binding === 'string' ? parseBinding(binding) : binding)),
  };
}

/** For a new sandbox or run. The operator's deny rules apply to every caller. */
export function newEgress(
  call: Pick<Call, 'caller' | 'reach'>,
  host: EgressHost | undefined,
  asked: AskedEgress,
): EgressSpec {
  if (host === undefined) throw new GeodeError('cannot_enforce', 'This server has no network policies.');
  const { policy, bindings } = egressOf(asked);
  const spec = { policy: alsoDenying(policy, host.denied), bindings };
  checkEgressReach(call, spec, undefined);
  return host.check(call.caller.user, spec);
}

/** "none" takes the proxy away, which a policy needs. */
export function checkNetwork(network: 'none' | undefined, asked: AskedEgress | undefined): void {
  if (network === undefined || asked === undefined) return;
  throw new GeodeError('invalid_input', 'The network "none" and a network policy exclude each other.', {
    hint: 'Leave one of them out.',
  });
}

/**
 * For a run. `undefined`: the user's default policy. A run that a tool of a sandbox starts gets
 * the same policy, limited to what that sandbox may reach.
 */
export function runEgress(
  call: Pick<Call, 'caller' | 'reach'>,
  host: EgressHost | undefined,
  asked: AskedEgress | undefined,
): EgressSpec | undefined {
  const given = asked && newEgress(call, host, asked);
  const { reach } = call;
  if (reach === undefined) return given;
  const own = given ?? host?.initial(call.caller.user);
  const bound = host?.remembered(reach.sandboxId);
  return own && bound ? narrowedTo(own, bound) : reachesNothing;
}

/** For an existing sandbox. Permissions from the operator stay, and the operator's deny rules stay. */
export function changedEgress(
  call: Pick<Call, 'caller' | 'reach'>,
  host: EgressHost,
  before: EgressSpec | undefined,
  next: EgressSpec,
): EgressSpec {
  checkEgressReach(call, next, before);
  const spec = isOperator(call) ? next : { ...next, policy: alsoDenying(next.policy, host.denied) };
  return host.check(call.caller.user, spec);
}

/**
 * Without operator rights a key cannot allow private addresses, and cannot send a credential anywhere except to its
 * own service.
 */
function checkEgressReach(
  call: Pick<Call, 'caller' | 'reach'>,
  { policy, bindings }: EgressSpec,
  before: EgressSpec | undefined,
): void {
  if (isOperator(call)) return;
  const added = policy.allow.find(
    (rule) => rule.private && !before?.policy.allow.some((known) => isDeepStrictEqual(known, rule)),
  );
  if (added !== undefined)
    throw new GeodeError('forbidden', `${added.host} is a private address, which needs the scope admin`);
  const bound = bindings.find(
    (binding) =>
      binding.upstream !== undefined && !before?.bindings.some((known) => isDeepStrictEqual(known, binding)),
  );
  if (bound !== undefined)
    throw new GeodeError('forbidden', `An upstream for ${bound.name} needs the scope admin`);
}
