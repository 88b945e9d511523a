import type { Grade } from './sandbox.ts';

/** One check of the host's machine, with the next step if something is wrong. */
export interface MachineCheck {
  readonly name: string;
  /** `problem`: something that people need does not work. `warning`: something else does not work. */
  readonly state: 'ok' | 'warning' | 'problem';
  readonly found: string;
  readonly fix?: string;
  /** The isolation of a command that this check ran. */
  readonly grade?: Grade;
}
