import type { RunEvent } from '../../seams/run.ts';
import type { Outcome } from '../../seams/run-result.ts';

/** A finished run. `stopped`: it ended without an exit of its own, by its caller or by a failure. */
export interface RunSummary {
  /** The id of its sandbox. */
  readonly id: string;
  /** When it started. */
  readonly at: number;
  readonly language: string;
  readonly outcome: Outcome | 'stopped';
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly durationMs: number;
  readonly runtime: string;
  readonly grade: string;
  /** The first line of the code. */
  readonly title: string;
}

export interface RunOutput {
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
}

export interface RunRecord extends RunSummary {
  /** The start of the code, with secrets removed; the same for the output. */
  readonly code: string;
  /** Output of program and compiler, in order. */
  readonly output: readonly RunOutput[];
  /** Bytes that were not stored. */
  readonly droppedBytes: number;
  /** The paths of returned files; their content is not stored. */
  readonly artifacts: readonly string[];
  /** Refused network requests: `host:port`. */
  readonly denied: readonly string[];
}

/** The finished runs of one user. */
export interface RunHistory {
  /** Newest first. `before`: only runs that started before that time. */
  list(user: string, options?: { readonly limit?: number; readonly before?: number }): readonly RunSummary[];
  /** Throws `run_not_found`, also for runs of other users. */
  get(user: string, id: string): RunRecord;
}

export type SandboxReady = Extract<RunEvent, { type: 'sandbox-ready' }>;
