import type { Argument, Frame } from '../frame.ts';
import type { RuleName } from '../verdict.ts';

/** One program with its arguments. The name is the last part of its path, or '' when it is not spelled out. */
export interface Call {
  readonly name: string;
  readonly args: readonly Argument[];
  readonly frame: Frame;
}

export interface Rule {
  readonly name: RuleName;
  /** The reason to refuse the call; undefined if it is allowed. */
  check(call: Call): string | undefined;
}
