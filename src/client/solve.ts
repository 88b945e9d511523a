/** Solves and saved solutions (crystals) of the calling user. */

import type { Cancel } from '../base/cancel.ts';
import type { EgressSpec } from '../seams/egress.ts';
import type { KeptSolve, SolveEvent, SolveRequest, Verdict } from '../seams/solve.ts';
import { callsOf } from './calls.ts';
import { type EgressRequest, egressBody } from './egress.ts';
import type { ApiConnection } from './send.ts';

/** A solve as the host stores it; times are ISO 8601 text. */
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
  /** The check for verifying it again. */
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
  /** `distrusted` and `unused` crystals are kept but no longer recalled. */
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
  /** Runs it again on the check stored with it, and updates its trust. */
  verify(
    key: string,
    options?: { readonly egress?: EgressSpec | EgressRequest } & Cancel,
  ): Promise<{ readonly crystal: RemoteCrystal; readonly verdict: Verdict }>;
  forget(key: string, options?: Cancel): Promise<void>;
}

export function remoteSolves(connection: ApiConnection): RemoteSolves {
  const { solve, resume, list, get } = callsOf(connection, 'solves');
  const crystals = callsOf(connection, 'crystals');
  const from = (egress: RemoteSolveRequest['egress']) => egress && { egress: egressBody(egress) };
  return {
    solve: ({ egress, ...request }, cancel) => solve({ ...request, ...from(egress) }, cancel),
    resume,
    list,
    get,
    crystals: crystals.list,
    crystal: crystals.get,
    change: crystals.change,
    verify: (key, { egress, ...cancel } = {}) => crystals.verify(key, { ...from(egress) }, cancel),
    forget: crystals.remove,
  };
}
