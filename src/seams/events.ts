import type { Cancel } from '../base/cancel.ts';
import type { User } from '../base/identity.ts';
import type { ApprovalDecision, ApprovalKind } from './approval.ts';
import type { EgressMode } from './egress.ts';
import type { ExitFacts } from './process.ts';
import type { SolveOutcome } from './solve.ts';

/**
 * The events of this host in their order: one stream for all readers. An event names what changed; for details,
 * a reader queries the object itself. No event carries output, an argument, a file or the text of an entry, so none
 * can leak one.
 */
export type Happening =
  /** A sandbox runs: it was made, or started again. */
  | ({ readonly type: 'sandbox-start'; readonly made: boolean } & OfSandbox)
  /** Its processes have ended, its files stay. `idle`: the sweep stopped it. */
  | ({ readonly type: 'sandbox-stop'; readonly cause: 'asked' | 'idle' | 'ended' } & OfSandbox)
  | ({ readonly type: 'sandbox-pause' } & OfSandbox)
  | ({ readonly type: 'sandbox-resume' } & OfSandbox)
  | ({ readonly type: 'sandbox-remove' } & OfSandbox)
  | ({ readonly type: 'sandbox-rename'; readonly from: string } & OfSandbox)
  | ({ readonly type: 'process-start'; readonly process: string; readonly program: string } & OfSandbox)
  | ({ readonly type: 'process-exit'; readonly process: string } & ExitFacts & OfSandbox)
  /** A sandbox, or a run if `chat` is null, was denied a target. Repeated denials of one target are sent only once in a while. */
  | {
      readonly type: 'egress-denied';
      readonly sandbox: string;
      readonly chat: string | null;
      readonly host: string;
      readonly port: number;
      /** The rule that refused it, or the mode. */
      readonly rule: string;
    }
  /** The default policy of the user for new sandboxes and runs; null: the config's policy applies again. */
  | { readonly type: 'egress-default'; readonly mode: EgressMode | null }
  | { readonly type: 'run-start'; readonly run: string; readonly language: string }
  /** `exitCode` is null for a run that was stopped, or that never got to run. */
  | {
      readonly type: 'run-end';
      readonly run: string;
      readonly language: string;
      readonly exitCode: number | null;
      readonly durationMs: number;
    }
  /** Code ran in an interpreter that keeps its variables. */
  | { readonly type: 'cell-end'; readonly context: string; readonly status: string }
  | { readonly type: 'turn-start'; readonly chat: string; readonly turn: string; readonly driver: string }
  /** A turn that its host did not see to the end has none, until another host resumes it. */
  | {
      readonly type: 'turn-end';
      readonly chat: string;
      readonly turn: string;
      readonly driver: string;
      readonly outcome: 'done' | 'interrupted' | 'limit' | 'error';
    }
  /** `outcome` is `ok` or the code of an error; the digest is null unless it is `ok`. */
  | {
      readonly type: 'image-build';
      readonly image: string;
      readonly outcome: string;
      readonly digest: string | null;
    }
  | { readonly type: 'image-remove'; readonly image: string }
  | {
      readonly type: 'entry-stored';
      readonly key: string;
      readonly outcome: 'created' | 'updated' | 'merged';
    }
  /** Programs in a sandbox may use the host's tools from now on; `tools-close` ends that. */
  | ({ readonly type: 'tools-open'; readonly tools: readonly string[] } & OfSandbox)
  | ({ readonly type: 'tools-close' } & OfSandbox)
  /** `outcome` is `ok` or the code of an error. */
  | ({
      readonly type: 'tool-call';
      readonly tool: string;
      readonly outcome: string;
      readonly durationMs: number;
      /** How many calls it stands for, where there were several shortly after each other; `durationMs` is the last one's. */
      readonly calls?: number;
    } & OfSandbox)
  /** Many at once, such as an import. */
  | { readonly type: 'entries-stored'; readonly count: number }
  | { readonly type: 'entry-removed'; readonly key: string }
  /** Somebody on a channel may speak as the user from now on. */
  | { readonly type: 'sender-paired'; readonly channel: string; readonly sender: string }
  | ({ readonly type: 'schedule-add' } & OfSchedule)
  | ({ readonly type: 'schedule-remove' } & OfSchedule)
  /** Its time came. `isSkipped`: it had passed while no host ran, and the schedule makes up for none. */
  | ({ readonly type: 'schedule-run'; readonly isSkipped: boolean } & OfSchedule)
  /** Somebody waits for a person's decision. */
  | ({ readonly type: 'approval-asked' } & OfApproval)
  | ({
      readonly type: 'approval-decided';
      readonly state: 'decided' | 'expired' | 'withdrawn';
      readonly decision: ApprovalDecision;
    } & OfApproval)
  | { readonly type: 'solve-start'; readonly solve: string }
  | {
      readonly type: 'attempt-end';
      readonly solve: string;
      readonly attempt: number;
      readonly state: 'passed' | 'failed';
    }
  /** `interrupted`: it ended without a result and can be resumed. */
  | { readonly type: 'solve-end'; readonly solve: string; readonly outcome: SolveOutcome | 'interrupted' }
  /** A key of the user was made, or is refused from now on. */
  | { readonly type: 'key-create' | 'key-revoke'; readonly key: string }
  | {
      readonly type: 'crystal-change';
      readonly key: string;
      readonly change: 'created' | 'confirmed' | 'doubted' | 'edited' | 'removed';
    };

interface OfSandbox {
  readonly sandbox: string;
  readonly chat: string;
}

interface OfSchedule {
  readonly schedule: string;
  readonly chat: string;
}

interface OfApproval {
  readonly approval: string;
  readonly kind: ApprovalKind;
  readonly sandbox: string | null;
  readonly chat: string | null;
}

/** An event as it is kept. `seq` grows by at least one with each; `at` is in ms since 1970. */
export type HostEvent = Happening & { readonly seq: number; readonly at: number; readonly user: User };

/**
 * Sent in place of deleted events, or events of another ledger: the reader must reload everything it shows.
 * Reading continues after `seq`.
 */
export interface EventGap {
  readonly type: 'gap';
  readonly seq: number;
}

export interface ReadEventsOptions extends Cancel {
  /** The last sequence number that the reader has; later events come first. Default: only new events. */
  readonly after?: number;
  /** False: end after the stored events. Default true: wait for more until the signal fires. */
  readonly follow?: boolean;
}

/** Receives the events of all parts. Never throws and never waits: work continues even if an event cannot be stored. */
export interface EventSink {
  emit(user: User, happening: Happening): void;
}

export interface Events extends EventSink {
  /**
   * Yields the events of one user, or of `everyone` for the operator of this host. Each once, in order; a slow
   * reader misses only deleted events.
   */
  read(whose: User | typeof everyone, options?: ReadEventsOptions): AsyncIterable<HostEvent | EventGap>;
  /** The newest sequence number; 0 if there are no events yet. */
  readonly latest: number;
}

/** No user can have this name. */
export const everyone = Symbol('everyone');

/** For a library call or a test that wants no events. */
export const noEvents: EventSink = { emit() {} };
