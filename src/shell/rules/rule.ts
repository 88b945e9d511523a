import type { Call } from '../programs/call.ts';
import type { RuleName } from '../verdict.ts';

/** One reason to refuse a program with its arguments. */
export interface Rule {
  readonly name: RuleName;
  /** Programs that the rule knows by name, so that a glob in a program's place can be matched against them. */
  readonly programs: readonly string[];
  /** What the program would do, as a sentence; `undefined` when the rule has nothing against it. */
  check(call: Call): string | undefined;
}
