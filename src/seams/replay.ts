/**
 * Recorded turns of agents, played again. A replay runs in a sealed copy of the sandbox, with the files as they were
 * before the turn. The copy has no network and no tools of the host, and is removed at the end.
 *
 * Without a model the recorded answers are served and only the commands run again, so the first difference shows what
 * the turn depended on. With a model the whole turn runs again with that model, and the outcomes are compared.
 */
import type { Cancel } from '../base/cancel.ts';
import type { TokenUsage } from '../base/prices.ts';
import type { AgentResult, DriverName } from './agent.ts';

export interface RecordedTurn {
  readonly turn: string;
  readonly driver: DriverName;
  readonly message: string;
  readonly outcome: TurnOutcome;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly cost: number | null;
  /** Why it cannot be played again; null if it can. */
  readonly problem: string | null;
}

/** `recording-end`: the recording of an interrupted or failed turn ends before an answer. */
export type TurnOutcome = AgentResult['outcome'] | 'error' | 'recording-end';

export interface ReplayOptions extends Cancel {
  /** Another model, as `SERVICE/MODEL` or a name that the agent's program knows; left out: the recorded answers. */
  readonly model?: string | undefined;
  /** Keeps the copy of the sandbox as a chat of its own. */
  readonly keep?: boolean | undefined;
}

/** The first place where a replay is not like its recording. */
export interface ReplayDifference {
  /** The number of the tool call in the turn, from 1; null for a difference after the last one. */
  readonly step: number | null;
  /** `call`: another tool call; `result`: another result of the same call; `answer`: the last text; `files`: the changed files. */
  readonly kind: 'call' | 'result' | 'answer' | 'files';
  /** The tool or the file. */
  readonly what: string;
  readonly recorded: string;
  readonly replayed: string;
}

export interface ReplayOutcome {
  readonly outcome: TurnOutcome;
  readonly text: string;
  readonly calls: number;
  readonly failedCalls: number;
  readonly usage: TokenUsage;
  readonly cost: number | null;
  readonly durationMs: number;
}

/** A file that the turn or its replay changed. */
export interface ReplayedFile {
  readonly path: string;
  /** null: its contents could not be compared, because it is large or not text. */
  readonly same: boolean | null;
  /** Unified diffs against the file before the turn; empty: unchanged; null: no text to show. */
  readonly recorded: string | null;
  readonly replayed: string | null;
}

/** `better`: only the replay finished; `worse`: only the recorded turn did; `different`: a person has to judge. */
export type ReplayVerdict = 'same' | 'different' | 'better' | 'worse';

export type ReplayEvent =
  | {
      readonly type: 'replay-start';
      readonly turn: string;
      readonly driver: DriverName;
      readonly message: string;
      readonly startedAt: number;
      /** null: the recorded answers. */
      readonly model: string | null;
      /** The chat of the copy. */
      readonly copy: string;
      /** Processes of the sandbox are not part of the recording. */
      readonly from: 'files';
    }
  | {
      readonly type: 'replay-call';
      readonly step: number;
      readonly tool: string;
      readonly input: unknown;
      /** `served`: not compared, because the tool works outside of the sandbox; the built-in agent gets the recorded result. */
      readonly result: 'same' | 'different' | 'served';
    }
  | ({ readonly type: 'replay-difference' } & ReplayDifference)
  | {
      readonly type: 'replay-end';
      readonly verdict: ReplayVerdict;
      readonly first: ReplayDifference | null;
      /** Calls whose results differ, and files. */
      readonly differences: number;
      readonly recorded: ReplayOutcome;
      readonly replayed: ReplayOutcome;
      readonly files: readonly ReplayedFile[];
      /** Limits of this replay: what was not recorded, served or compared. */
      readonly notes: readonly string[];
      /** The chat of the copy, if it is kept. */
      readonly kept: string | null;
    };

interface UserReplays {
  /** The recorded turns of a chat, newest first. Throws `agent_not_found` if there are none. */
  turns(chat: string): readonly RecordedTurn[];
  /**
   * Plays a turn again: `turn` is its id, the beginning of its id, or `last`. Leaving the loop ends the replay. Throws
   * `turn_not_found`, and `turn_not_recorded` with the reason if the recording is not complete.
   */
  replay(chat: string, turn: string, options?: ReplayOptions): AsyncGenerator<ReplayEvent>;
}

export interface Replays extends AsyncDisposable {
  of(user: string): UserReplays;
}
