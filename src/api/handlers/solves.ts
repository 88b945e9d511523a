import type { solves } from '../../contract/solve.ts';
import type { Solves } from '../../seams/solve.ts';
import { runEgress } from '../egress-reach.ts';
import type { ApiParts } from '../environment.ts';
import type { Handlers } from '../serve.ts';
import { begun } from '../streams.ts';

export function solveHandlers(
  of: (user: string) => Solves,
  host: ApiParts['egress'],
): Handlers<typeof solves> {
  return {
    solve({ egress: asked, ...request }, call) {
      // Without a network policy of its own a solve has no network, whatever the default for runs is.
      const egress = asked && runEgress(call, host, asked);
      const { reach, signal } = call;
      const given = { ...request, ...(egress && { egress }), ...(reach && { most: reach.limits }) };
      return begun(of(call.caller.user).solve(given, { signal }));
    },
    resume: ({ id }, { caller, signal }) => begun(of(caller.user).resume(id, { signal })),
    list: ({ limit }, { caller }) => of(caller.user).list(limit).map(shown),
    get: ({ id }, { caller }) => shown(of(caller.user).get(id)),
  };
}

/** Dates are sent as text. */
function shown({ createdAt, attempts, ...solve }: ReturnType<Solves['get']>) {
  return {
    ...solve,
    createdAt: createdAt.toISOString(),
    attempts: attempts.map(({ startedAt, endedAt, ...attempt }) => ({
      ...attempt,
      startedAt: startedAt.toISOString(),
      endedAt: endedAt?.toISOString() ?? null,
    })),
  };
}
