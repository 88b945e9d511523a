import type { Cancel } from '../base/cancel.ts';
import type { User } from '../base/identity.ts';
import type { ApprovalDecision, ApprovalKind } from './approval.ts';
import type { EgressMode } from './egress.ts';
import type { ExitFacts } from './process.ts';
import type { SolveOutcome } from './solve.ts';

/**
 * The events of this host in order: one stream for all readers. An event names what changed; for details, a reader
 * queries the object itself. Events contain no output, arguments, files or entry texts, so they cannot leak any.
 */
export type EventBody =
  /** A sandbox runs: it was created or started again. */
  | ({ readonly type: 'sandbox-start'; readonly made: boolean } & OfSandbox)
  | (SandboxEvent & OfSandbox)
  /** Its processes have ended; its files remain. `idle`: stopped for being idle. */
  | ({ readonly type: 'sandbox-stop'; readonly cause: 'asked' | 'idle' | 'ended' } & OfSandbox)
  | ({ readonly type: 'sandbox-pause' } & OfSandbox)
  | ({ readonly type: 'sandbox-resume' } & OfSandbox)
  | ({ readonly type: 'sandbox-remove' } & OfSandbox)
  | ({ readonly type: 'sandbox-rename'; readonly from: string } & OfSandbox)
  | ({ readonly type: 'process-start'; readonly process: string; readonly program: string } & OfSandbox)
  | ({ readonly type: 'process-exit'; readonly process: string } & ExitFacts & OfSandbox)
  /**
   * A sandbox, or a run if `chat` is null, was refused a target. Repeated refusals of one target are sent only once
   * per interval.
   */
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
  /** `exitCode` is null for a run that was stopped or never started. */
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
  /** Missing if the host ended during the turn, until another host resumes it. */
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
  /** Programs in a sandbox may now use the host's tools, until `tools-close`. */
  | ({ readonly type: 'tools-open'; readonly tools: readonly string[] } & OfSandbox)
  | ({ readonly type: 'tools-close' } & OfSandbox)
  /** `outcome` is `ok` or the code of an error. */
  | ({
      readonly type: 'tool-call';
      readonly tool: string;
      readonly outcome: string;
      readonly durationMs: number;
      /** The number of calls in quick succession that this event stands for; `durationMs` is that of the last one. */
      readonly calls?: number;
    } & OfSandbox)
  /** Many at once, as in an import. */
  | { readonly type: 'entries-stored'; readonly count: number }
  | { readonly type: 'entry-removed'; readonly key: string }
  /** A person on a channel may now speak as the user. */
  | { readonly type: 'sender-paired'; readonly channel: string; readonly sender: string }
  | ({ readonly type: 'schedule-add' } & OfSchedule)
  | ({ readonly type: 'schedule-remove' } & OfSchedule)
  /** Its time came. `isSkipped`: the time passed while no host ran, and the schedule does not make up for it. */
  | ({ readonly type: 'schedule-run'; readonly isSkipped: boolean } & OfSchedule)
  /** An approval waits for a person's decision. */
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
  /** A backup of the whole host was made. */
  | { readonly type: 'backup-create'; readonly backup: string; readonly bytes: number }
  /** The host uses another default model: SERVICE/MODEL. */
  | { readonly type: 'provider-connect'; readonly model: string }
  /** The host runs another version since now. */
  | { readonly type: 'upgrade' | 'rollback'; readonly from: string; readonly to: string }
  /** `disabled`: its server answered that the address is gone. */
  | {
      readonly type: 'webhook-change';
      readonly webhook: string;
      readonly change: 'created' | 'changed' | 'removed' | 'disabled';
    }
  /** A key of the user was created or revoked. */
  | { readonly type: 'key-create' | 'key-revoke'; readonly key: string }
  | {
      readonly type: 'crystal-change';
      readonly key: string;
      readonly change: 'created' | 'confirmed' | 'doubted' | 'edited' | 'removed';
    };

/** Saved memory. Each of these ended what the sandbox, and its copy, had open through the hatch. */
export type SandboxEvent =
  | { readonly type: 'sandbox-checkpoint'; readonly checkpoint: string }
  /** A copy with the processes of another sandbox, whose id is `from`. */
  | { readonly type: 'sandbox-fork'; readonly from: string }
  /** Its memory is on disk, and its processes continue at the next use. */
  | { readonly type: 'sandbox-hibernate'; readonly cause: 'asked' | 'idle' }
  /** Its processes continue. */
  | { readonly type: 'sandbox-wake' };

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

/** A stored event. `seq` grows by at least one with each; `at` is in ms since 1970. */
export type HostEvent = EventBody & { readonly seq: number; readonly at: number; readonly user: User };

/**
 * Sent in place of deleted events, or events of another ledger: the reader must reload everything it shows.
 * Reading continues after `seq`.
 */
export interface EventGap {
  readonly type: 'gap';
  readonly seq: number;
}

export interface ReadEventsOptions extends Cancel {
  /** The last sequence number that the reader has; later events are sent. Default: only new events. */
  readonly after?: number;
  /** False: end after the stored events. Default true: wait for more until the signal fires. */
  readonly follow?: boolean;
}

/** Receives the events of all parts. Never throws and never waits: work continues even if an event cannot be stored. */
export interface EventSink {
  emit(user: User, eventBody: EventBody): void;
}

export interface Events extends EventSink {
  /**
   * Yields the events of one user, or of `everyone` for the operator of this host. Each event comes once, in order; a
   * slow reader misses only deleted events.
   */
  read(whose: User | typeof everyone, options?: ReadEventsOptions): AsyncIterable<HostEvent | EventGap>;
  /** The newest sequence number; 0 if there are no events yet. */
  readonly latest: number;
}

/** No user can have this name. */
export const everyone = Symbol('everyone');

/** For a library call or a test that needs no events. */
export const noEvents: EventSink = { emit() {} };
