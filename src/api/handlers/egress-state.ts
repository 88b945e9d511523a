import { type EgressSpec, reachesNothing } from '../../seams/egress.ts';

export function stateOf({ policy, bindings }: EgressSpec = reachesNothing) {
  const { bridges = [], ...rest } = policy;
  return { ...rest, bridges, bindings };
}
