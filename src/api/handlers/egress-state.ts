import { type EgressSpec, reachesNothing } from '../../core/egress.ts';

export function stateOf({ policy, bindings }: EgressSpec = reachesNothing) {
  const { bridges = [], ...rest } = policy;
  return { ...rest, bridges, bindings };
}
