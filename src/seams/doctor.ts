/** One thing that was looked at on the machine of a host, and the next step where it is not well. */
export interface MachineCheck {
  readonly name: string;
  /** `problem`: something that people need does not work; `warning`: something else does not. */
  readonly state: 'ok' | 'warning' | 'problem';
  readonly found: string;
  readonly fix?: string;
}
