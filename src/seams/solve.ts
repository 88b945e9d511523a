/**
 * Solving by trying: a model writes code, Geode runs it in a sandbox, checks it, reflects on the error and tries
 * again.
 *
 * A solve is a stream of events that ends with exactly one `result`. An unsolved problem is a result with its
 * evidence, not an error. Errors are only for a solve that cannot continue (`no_provider`, `invalid_input`, a
 * provider that is down). Every attempt is stored, so a solve whose host was killed can be resumed without paying for
 * an answer twice.
 */
import type { Cancel } from '../base/cancel.ts';
import type { TokenUsage } from '../base/prices.ts';
import type { EgressSpec } from './egress.ts';
import type { Limits } from './limits.ts';

export interface SolveRequest {
  readonly problem: string;
  /** Absent: the model chooses. */
  readonly language?: string | undefined;
  /** A program in the same language that fails when the solution is wrong. See docs/solve.md for its form. */
  readonly tests?: string | undefined;
  /** The output that the solution must print; white space at the ends of lines and of the text is ignored. */
  readonly expect?: string | undefined;
  /** A model reviews a result that had no other check. It never overrules a failed check. */
  readonly judge?: boolean | undefined;
  /** Text by path, next to the code. */
  readonly files?: Readonly<Record<string, string>> | undefined;
  /** 1 to 10. Default 3. */
  readonly attempts?: number | undefined;
  /** Limit in US dollars for this problem; null: no limit of its own. */
  readonly budget?: number | null | undefined;
  /** `SERVICE/MODEL` instead of the configured one. */
  readonly model?: string | undefined;
  /**
   * Where packages may be installed from; missing: only the standard library. The solution itself runs without
   * network.
   */
  readonly egress?: EgressSpec | undefined;
  /** Upper bounds for the limits of its runs. */
  readonly most?: Limits | undefined;
}

/**
 * The check that decided: the given tests, the given output, checks that the model wrote before it saw a result, a
 * judge, or only the exit code.
 */
type Verification = 'tests' | 'expected-output' | 'own-checks' | 'judge' | 'exit-code';

export interface Verdict {
  /** `unverified`: it ran to the end without any other check. */
  readonly label: 'verified' | 'unverified' | 'failed';
  readonly by: Verification;
  /** For display: what was checked and the outcome. */
  readonly reason: string;
}

interface Reflection {
  readonly analysis: string;
  readonly cause: string;
  /** Change for the next attempt. */
  readonly change: string;
}

/** How the code of an attempt ran; output is shortened in the middle. */
export interface AttemptRun {
  readonly outcome: string;
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly durationMs: number;
  /** The error without parts that differ from run to run; null if there was none. */
  readonly signature: string | null;
}

/** Packages installed for an attempt, in a separate run that does not count as the attempt's time. */
export interface Installation {
  readonly packages: readonly string[];
  readonly succeeded: boolean;
  readonly durationMs: number;
  /** The installer's output, shortened in the middle. */
  readonly output: string;
}

export interface Attempt {
  readonly number: number;
  /** The author of the code: a model, or an earlier solve whose crystal was tried first. */
  readonly origin: 'model' | 'crystal';
  readonly state: 'running' | 'interrupted' | 'passed' | 'failed';
  readonly language: string | null;
  readonly code: string | null;
  readonly files: Readonly<Record<string, string>>;
  readonly checks: string | null;
  /** Packages that the code needs. */
  readonly dependencies: readonly string[];
  readonly installation: Installation | null;
  readonly run: AttemptRun | null;
  readonly verdict: Verdict | null;
  readonly reflection: Reflection | null;
  readonly usage: TokenUsage;
  readonly cost: number;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
}

/** `needs-person`: the model asks for something that only a person has, or repeats an attempt without success. */
export const solveOutcomes = [
  'solved',
  'unverified',
  'failed',
  'needs-person',
  'budget-spent',
  'cancelled',
] as const;
export type SolveOutcome = (typeof solveOutcomes)[number];

export interface SolveResult {
  readonly id: string;
  readonly outcome: SolveOutcome;
  /** For display: why it ended this way. */
  readonly reason: string;
  readonly code: string | null;
  readonly language: string | null;
  readonly files: Readonly<Record<string, string>>;
  readonly verdict: Verdict | null;
  readonly attempts: number;
  readonly usage: TokenUsage;
  readonly cost: number;
  /** The crystal that was stored or that answered. */
  readonly crystal: string | null;
}

export type SolveEvent =
  | { readonly type: 'solve-start'; readonly id: string }
  | {
      readonly type: 'recalled';
      readonly crystals: readonly { readonly key: string; readonly problem: string }[];
      readonly entries: readonly { readonly key: string }[];
    }
  | { readonly type: 'attempt-start'; readonly attempt: number; readonly origin: Attempt['origin'] }
  | { readonly type: 'code-delta'; readonly attempt: number; readonly text: string }
  | { readonly type: 'code'; readonly attempt: number; readonly language: string; readonly code: string }
  | { readonly type: 'install'; readonly attempt: number; readonly installation: Installation }
  | {
      readonly type: 'run-output';
      readonly attempt: number;
      readonly stream: 'stdout' | 'stderr';
      readonly text: string;
    }
  | { readonly type: 'verdict'; readonly attempt: number; readonly verdict: Verdict }
  | { readonly type: 'reflection'; readonly attempt: number; readonly reflection: Reflection }
  | { readonly type: 'crystal'; readonly key: string; readonly change: 'created' | 'confirmed' | 'doubted' }
  | ({ readonly type: 'result' } & SolveResult);

/** A solve as stored in the ledger. */
export interface KeptSolve {
  readonly id: string;
  readonly problem: string;
  readonly createdAt: Date;
  /** `interrupted`: its host ended during the solve; it can be resumed. */
  readonly state: 'running' | 'interrupted' | 'done';
  readonly result: SolveResult | null;
  readonly attempts: readonly Attempt[];
}

/** The solves of one user. */
export interface Solves {
  /** Leaving the loop cancels the solve. */
  solve(request: SolveRequest, options?: Cancel): AsyncGenerator<SolveEvent>;
  /** Continues an interrupted solve. Throws `solve_not_found`, or `invalid_input` if it has ended or is running. */
  resume(id: string, options?: Cancel): AsyncGenerator<SolveEvent>;
  /** Newest first, without attempts. */
  list(limit?: number): readonly KeptSolve[];
  /** Throws `solve_not_found`. */
  get(id: string): KeptSolve;
}

/** From 0 to 1; 0.5 if nothing is known. */
export function trustOf({
  successes,
  failures,
}: {
  readonly successes: number;
  readonly failures: number;
}): number {
  return (successes + 1) / (successes + failures + 2);
}
