import { toWire } from '../../../contract/names.ts';
import { type EgressSpec, reachesNothing } from '../../../core/egress.ts';

export function stateOf({ policy, bindings }: EgressSpec = reachesNothing) {
  const { bridges = [], ...rest } = policy;
  return toWire({ ...rest, bridges, bindings });
}
