/** Solves and saved solutions (crystals) of the calling user. */

import type { Cancel } from '../base/cancel.ts';
import { fromWire, toWire, type Wire } from '../contract/old-names.ts';
import type { EgressSpec } from '../seams/egress.ts';
import type { KeptSolve, SolveEvent, SolveRequest, Verdict } from '../seams/solve.ts';
import { type EgressRequest, wireEgress } from './egress.ts';
import { streamEvents } from './events.ts';
import { ask, type Connection, send } from './send.ts';

/** A solve as the host has it; times are ISO 8601 text. */
export type RemoteSolve = Omit<KeptSolve, 'createdAt' | 'attempts'> & {
  readonly createdAt: string;
  readonly attempts: readonly (Omit<KeptSolve['attempts'][number], 'startedAt' | 'endedAt'> & {
    readonly startedAt: string;
    readonly endedAt: string | null;
  })[];
};

export interface RemoteCrystal {
  readonly key: string;
  readonly problem: string;
  readonly errors: readonly string[];
  readonly solution: string;
  readonly language: string;
  readonly dependencies: readonly string[];
  readonly tags: readonly string[];
  readonly retries: number;
  readonly verification: string;
  /** The check that verifies it again. */
  readonly check: {
    readonly tests: string | null;
    readonly expect: string | null;
    readonly checks: string | null;
    readonly files: Readonly<Record<string, string>>;
  };
  readonly solve: string;
  readonly at: string;
  readonly usedAt: string | null;
  readonly successes: number;
  readonly failures: number;
  readonly lastFailure: string | null;
  readonly broken: boolean;
  readonly pinned: boolean;
  readonly trust: number;
  /** `distrusted` and `unused` ones are kept and no longer recalled. */
  readonly standing: 'pinned' | 'trusted' | 'distrusted' | 'unused';
}

export interface RemoteSolveRequest extends Omit<SolveRequest, 'egress'> {
  /** Where packages may be installed from. */
  readonly egress?: EgressSpec | EgressRequest | undefined;
}

/** A corrected solution or check starts with no trust. */
export type RemoteCrystalChange = Partial<
  Pick<RemoteCrystal, 'pinned' | 'problem' | 'solution'> & Pick<RemoteCrystal['check'], 'tests' | 'expect'>
>;

export interface RemoteSolves {
  /** Leaving the loop ends the solve; it can be resumed. */
  solve(request: RemoteSolveRequest, options?: Cancel): AsyncGenerator<SolveEvent>;
  resume(id: string, options?: Cancel): AsyncGenerator<SolveEvent>;
  list(options?: { readonly limit?: number } & Cancel): Promise<readonly RemoteSolve[]>;
  get(id: string, options?: Cancel): Promise<RemoteSolve>;
  crystals(options?: Cancel): Promise<readonly RemoteCrystal[]>;
  crystal(key: string, options?: Cancel): Promise<RemoteCrystal>;
  change(key: string, change: RemoteCrystalChange, options?: Cancel): Promise<RemoteCrystal>;
  /** Runs it again on the check that it was kept with; its trust follows. */
  verify(
    key: string,
    options?: { readonly egress?: EgressSpec | EgressRequest } & Cancel,
  ): Promise<{ readonly crystal: RemoteCrystal; readonly verdict: Verdict }>;
  forget(key: string, options?: Cancel): Promise<void>;
}

const solvePath = '/api/v1/solve';
const crystalPath = (key: string) => `/api/v1/crystals/${encodeURIComponent(key)}`;

export function remoteSolves(connection: Connection): RemoteSolves {
  async function* events(path: string, json: unknown, { signal }: Cancel): AsyncGenerator<SolveEvent> {
    const sending = { ...(json !== undefined && { json }), signal };
    for await (const event of streamEvents<Wire<SolveEvent>>(connection, 'POST', path, sending))
      yield fromWire(event) as SolveEvent;
  }
  return {
    solve: ({ egress, ...request }, cancel = {}) =>
      events(solvePath, { ...toWire(request), ...(egress && { egress: wireEgress(egress) }) }, cancel),
    resume: (id, cancel = {}) => events(`${solvePath}/${encodeURIComponent(id)}/resume`, undefined, cancel),
    async list({ limit, signal } = {}) {
      const answer = await ask<{ solves: Wire<RemoteSolve>[] }>(connection, 'GET', solvePath, {
        query: { limit },
        signal,
      });
      return answer.solves.map((each) => fromWire(each) as RemoteSolve);
    },
    async get(id, { signal } = {}) {
      const path = `${solvePath}/${encodeURIComponent(id)}`;
      return fromWire(await ask<Wire<RemoteSolve>>(connection, 'GET', path, { signal })) as RemoteSolve;
    },
    async crystals({ signal } = {}) {
      const path = '/api/v1/crystals';
      const answer = await ask<{ crystals: Wire<RemoteCrystal>[] }>(connection, 'GET', path, { signal });
      return answer.crystals.map((each) => fromWire(each));
    },
    crystal: async (key, { signal } = {}) =>
      fromWire(await ask<Wire<RemoteCrystal>>(connection, 'GET', crystalPath(key), { signal })),
    change: async (key, change, { signal } = {}) =>
      fromWire(
        await ask<Wire<RemoteCrystal>>(connection, 'PATCH', crystalPath(key), {
          json: toWire(change),
          signal,
        }),
      ),
    async verify(key, { egress, signal } = {}) {
      const answer = await ask<{ crystal: Wire<RemoteCrystal>; verdict: Verdict }>(
        connection,
        'POST',
        `${crystalPath(key)}/verify`,
        { json: egress === undefined ? {} : { egress: wireEgress(egress) }, signal },
      );
      return { crystal: fromWire(answer.crystal), verdict: answer.verdict };
    },
    async forget(key, { signal } = {}) {
      await send(connection, 'DELETE', crystalPath(key), { signal });
    },
  };
}
