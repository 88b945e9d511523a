import type { Argument, CommandFrame } from '../frame.ts';
import type { RuleName } from '../verdict.ts';

/** One program with its arguments. The name is the last part of its path, or '' when it is not spelled out. */
export interface ProgramCall {
  readonly name: string;
  readonly args: readonly Argument[];
  readonly frame: CommandFrame;
}

export interface Rule {
  readonly name: RuleName;
  /** The reason to refuse the call; undefined if it is allowed. */
  check(call: ProgramCall): string | undefined;
}
