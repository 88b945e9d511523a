import type { MachineCheck } from './doctor.ts';

/** Whether a host is healthy, and what it is doing. Names no user, chat or text. */
export interface HostStatus {
  /** `impaired`: something that people need does not work; the checks say what. */
  readonly state: 'healthy' | 'impaired' | 'stopping';
  readonly version: string;
  readonly pid: number;
  /** In ms since 1970. */
  readonly startedAt: number;
  readonly checks: readonly MachineCheck[];
  readonly work: {
    readonly runs: { readonly running: number; readonly waiting: number };
    /** Agents' turns in progress, those that wait for a person included. */
    readonly turns: number;
    /** Sandboxes by state. */
    readonly sandboxes: Readonly<Record<string, number>>;
    /** Messages of chats that are not answered yet; null where another database has them. */
    readonly messages: number | null;
    /** Requests that wait for a person. */
    readonly approvals: number;
    /** Entries that the index of memory does not have yet. */
    readonly unindexed: number;
  };
  /** Resident memory of the host's process. */
  readonly memoryBytes: number;
  /** How late a timer of the host fires just now. */
  readonly delayMs: number;
}
