import type { RunEvent } from '../../seams/run.ts';
import type { Outcome } from '../../seams/run-result.ts';

/** A run that is over. `stopped`: it ended without an exit of its own, by its caller or by a failure. */
export interface RunSummary {
  /** That of its sandbox. */
  readonly id: string;
  /** When it began. */
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
  /** The beginning of the code, with secrets removed; so is the output. */
  readonly code: string;
  /** Output of program and compiler, in its order. */
  readonly output: readonly RunOutput[];
  /** Bytes that were not kept. */
  readonly droppedBytes: number;
  /** The paths of files that were brought back; their content is not kept. */
  readonly artifacts: readonly string[];
  /** Refused network requests: `host:port`. */
  readonly denied: readonly string[];
}

/** The runs of one user that are over. */
export interface RunHistory {
  /** The newest first. `before`: only those that began before that time. */
  list(user: string, options?: { readonly limit?: number; readonly before?: number }): readonly RunSummary[];
  /** `run_not_found` for those of others too. */
  get(user: string, id: string): RunRecord;
}

export type SandboxReady = Extract<RunEvent, { type: 'sandbox-ready' }>;
