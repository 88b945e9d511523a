import type { Field } from '../field.ts';
import type { Frame } from '../frame.ts';

/** One program about to run. */
export interface Call {
  /** The last part of the program's path; empty where only running would tell. */
  readonly name: string;
  /** The program as it is spelled. */
  readonly program: Field;
  readonly args: readonly Field[];
  readonly frame: Frame;
}

/**
 * What the policy knows of a program: it looks at the commands that the program would run, notes the files it
 * writes, and returns its output. `undefined` means that the output cannot be told.
 */
export type Program = (call: Call) => string | undefined;
