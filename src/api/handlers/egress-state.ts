import { type EgressSpec, reachesNothing } from '../../seams/egress.ts';

export function egressStateOf({ policy, bindings }: EgressSpec = reachesNothing) {
  const { bridges = [], ...rest } = policy;
  return { ...rest, bridges, bindings };
}
