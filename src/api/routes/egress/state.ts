import { toWire } from '../../../contract/names.ts';
import type { EgressSpec } from '../../../core/egress.ts';
import { denyAll } from '../../../egress/rules.ts';

/** What may be reached where nobody said anything. */
export const nothing: EgressSpec = { policy: denyAll, bindings: [] };

export function stateOf({ policy, bindings }: EgressSpec = nothing) {
  const { bridges = [], ...rest } = policy;
  return toWire({ ...rest, bridges, bindings });
}
