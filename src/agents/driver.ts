/** The interface of a driver: its input for one turn, and its duties. The host stores everything else. */

import type { Cancel } from '../base/cancel.ts';
import type { AgentEventBody, AgentResult, Audience, DriverName, PermissionAnswer } from '../seams/agent.ts';
import type { BindingSpec } from '../seams/egress.ts';
import type { PersistentSandbox, UserSandboxes } from '../seams/persistent.ts';
import type { TerminalSize } from '../seams/process.ts';
import type { Act } from './permission-policy.ts';

/** Events that a driver yields; the host adds the first, the last and file events. */
export type DriverEventBody = Extract<
  AgentEventBody,
  { readonly type: 'text' | 'thinking' | 'answer-restart' | 'tool-call' | 'tool-result' | 'usage' }
>;

export interface DriverTurn {
  readonly user: string;
  readonly chat: string;
  /** The number of the conversation in the ledger. */
  readonly conversation: number;
  readonly turn: string;
  readonly sandbox: PersistentSandbox;
  readonly message: string;
  /** Paths in the workspace. */
  readonly attachments: readonly string[];
  readonly model: string | null;
  /** `group`: this turn has no access to the user's memory. */
  readonly audience: Audience;
  /** Another host started this turn. */
  readonly isResumed: boolean;
  /** Calls of this turn without a result, because another host ended during them. */
  readonly openCalls: readonly OpenCall[];
  /** The state that the driver last stored for this conversation; undefined at first. */
  readonly state: unknown;
  /**
   * Stores the events, and the driver's state if given, in one transaction; then notifies readers. A driver that
   * reads a source once, such as a journal, stores its position together with the events.
   */
  keep(eventBodies: readonly DriverEventBody[], state?: unknown): void;
  /**
   * Stores these together with the end of the turn, which the driver returns or throws next. If a host is killed
   * before that, none of it is stored, and the next host reads the end again.
   */
  keepLast(eventBodies: readonly DriverEventBody[], state: unknown): void;
  /** Asks a person, unless the policy allows it in advance, and waits for the answer. The signal ends the wait. */
  ask(request: PermissionRequest, options?: Cancel): Promise<PermissionAnswer>;
  /** Fires on an interrupt, on the turn's timeout, and when the host ends. */
  readonly signal: AbortSignal;
}

/** A tool call. */
export type OpenCall = Pick<Extract<AgentEventBody, { readonly type: 'tool-call' }>, 'id' | 'tool'>;

export interface PermissionRequest {
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
  readonly act: Act;
}

/** The input of a driver that shows the agent's own screen to a person. */
export interface DriverTerminal
  extends Pick<DriverTurn, 'sandbox' | 'conversation' | 'model' | 'audience' | 'state' | 'signal'> {
  readonly size: TerminalSize;
  keep(state: unknown): void;
}

/** The screen of an agent's program: a process with a terminal in the sandbox. While it runs, no turn starts. */
interface AgentScreen {
  /** The running process, if any. */
  find(state: unknown, sandbox: PersistentSandbox): Promise<string | undefined>;
  /** Continues the conversation after its last turn or screen. */
  start(given: DriverTerminal): Promise<string>;
}

/** How a turn ended by itself. Usage is summed up from the events. */
export interface TurnEnd {
  readonly outcome: Exclude<AgentResult['outcome'], 'interrupted'>;
  readonly text: string;
}

/** A recorded turn that runs again in a sealed copy of its sandbox. */
export interface DriverReplay
  extends Pick<
    DriverTurn,
    'user' | 'conversation' | 'turn' | 'sandbox' | 'signal' | 'message' | 'attachments' | 'state'
  > {
  /** The events of the recorded turn, the first and the last included. */
  readonly recorded: readonly AgentEventBody[];
  /** null: the recorded answers. */
  readonly model: string | null;
  /** The choice of the conversation. */
  readonly recordedModel: string | null;
  /** `served`: the result of this call comes from the recording. */
  note(event: DriverEventBody, served?: boolean): void;
  /** A limit of this replay, in a sentence. */
  limit(text: string): void;
}

export interface ReplayEnd {
  readonly outcome: TurnEnd['outcome'] | 'recording-end';
  readonly text: string;
}

export interface AgentDriver extends Partial<Disposable> {
  readonly name: DriverName;
  /** Its turns accept messages while they run. */
  readonly listens?: true;
  /** Throws for settings that cannot work, such as an unknown model, before anything is stored. */
  check(model: string | null): void;
  /** The sandbox of the chat with everything that the agent needs. */
  open(
    sandboxes: UserSandboxes,
    chat: string,
    signal: AbortSignal | undefined,
    model: string | null,
  ): Promise<PersistentSandbox>;
  /**
   * Runs one turn to its end. Failures are thrown. When the signal fires for an interrupt, every process of the turn
   * has ended before this settles. When the host ends, a program may continue for the next host.
   */
  turn(turn: DriverTurn): Promise<TurnEnd>;
  /**
   * Takes over a conversation that another host left without a turn, with its running program, which this host has to
   * end later.
   */
  adopt?(conversation: number, state: unknown, sandboxes: UserSandboxes, chat: string): void;
  /** Missing for agents without a screen of their own. */
  readonly terminal?: AgentScreen;
  /** Runs a recorded turn again. Failures are thrown. Missing for drivers that cannot. */
  readonly replay?: {
    /** The recorded answers are calls of a program in the sandbox through a binding. */
    readonly needsCalls: boolean;
    /** The bindings that a program in the copy needs to reach the named model. */
    bindings(model: string): readonly BindingSpec[];
    /** Throws for a model that is unknown or a recording that it cannot use, before anything is made. */
    check(model: string | null): void;
    run(replay: DriverReplay): Promise<ReplayEnd>;
  };
  /** The state of a conversation in a copy of its sandbox, where no program runs. Missing: it needs no state there. */
  forked?(state: unknown): unknown;
  /** Ends what the conversation keeps running between turns, and deletes its stored state. */
  stop?(state: unknown, sandboxes: UserSandboxes, chat: string): Promise<void>;
}

/** Why the signal of a turn fired. */
export type TurnStop = 'interrupt' | 'timeout' | 'host-ends';

export function stopReason(signal: AbortSignal): TurnStop | undefined {
  if (!signal.aborted) return undefined;
  const { reason } = signal;
  return reason === 'timeout' || reason === 'host-ends' ? reason : 'interrupt';
}
