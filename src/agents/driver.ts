/** The interface of a driver: its input for one turn, and its duties. The host stores everything else. */

import type { Cancel } from '../base/cancel.ts';
import type { AgentHappening, AgentResult, Audience, DriverName, PermissionAnswer } from '../seams/agent.ts';
import type { PersistentSandbox, UserSandboxes } from '../seams/persistent.ts';
import type { TerminalSize } from '../seams/process.ts';
import type { Act } from './permission-policy.ts';

/** Events that a driver yields; the host adds the first, the last and those about files. */
export type DriverHappening = Extract<
  AgentHappening,
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
  /** `group`: the memory of the user is not available to this turn. */
  readonly audience: Audience;
  /** Another host began this turn. */
  readonly isResumed: boolean;
  /** Calls of this turn that have no result yet, because another host ended during them. */
  readonly openCalls: readonly OpenCall[];
  /** The state that the driver last stored for this conversation; undefined at the beginning. */
  readonly state: unknown;
  /**
   * Keeps the happenings, and the driver's own state if it is given, in one step; then tells the readers. What a
   * driver reads once, such as a line of a journal, it keeps with the place where it goes on.
   */
  keep(happenings: readonly DriverHappening[], state?: unknown): void;
  /**
   * Keeps these together with the end of the turn, which the driver returns or throws next. A host that is killed in
   * between has kept none of it, and the next one reads the end again.
   */
  keepLast(happenings: readonly DriverHappening[], state: unknown): void;
  /** Asks a person, unless the policy allows it ahead, and waits for the answer. The signal ends the wait. */
  ask(request: PermissionRequest, options?: Cancel): Promise<PermissionAnswer>;
  /** Fires on an interrupt, when the turn takes too long, and when the host ends. */
  readonly signal: AbortSignal;
}

/** A call of a tool. */
export type OpenCall = Pick<Extract<AgentHappening, { readonly type: 'tool-call' }>, 'id' | 'tool'>;

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

/** The screen of an agent's program: a process with a terminal, in the sandbox. While it runs, no turn begins. */
interface AgentScreen {
  /** The process that runs, if one does. */
  find(state: unknown, sandbox: PersistentSandbox): Promise<string | undefined>;
  /** Goes on with the conversation where its last turn, or the last screen, left it. */
  start(given: DriverTerminal): Promise<string>;
}

/** How a turn ended by itself. What was used is summed up from the events. */
export interface TurnEnd {
  readonly outcome: Exclude<AgentResult['outcome'], 'interrupted'>;
  readonly text: string;
}

export interface AgentDriver extends Partial<Disposable> {
  readonly name: DriverName;
  /** Its turns hear what is said while they run. */
  readonly listens?: true;
  /** Refuses what cannot begin at all, before anything is written: a model that is not there. */
  check(model: string | null): void;
  /** The sandbox of the chat, with all that the agent needs to be there. */
  open(
    sandboxes: UserSandboxes,
    chat: string,
    signal: AbortSignal | undefined,
    model: string | null,
  ): Promise<PersistentSandbox>;
  /**
   * Leads one turn to its end. A failure is thrown. When the signal fires because of an interrupt, everything that the
   * turn runs has ended before this settles; when the host ends, a program may go on for the next host.
   */
  turn(turn: DriverTurn): Promise<TurnEnd>;
  /** Another host left this conversation without a turn: what it keeps running is this one's to end some day. */
  adopt?(conversation: number, state: unknown, sandboxes: UserSandboxes, chat: string): void;
  /** Left out of agents that have no screen of their own. */
  readonly terminal?: AgentScreen;
  /** Ends what the conversation keeps running between turns, and forgets what it keeps. */
  stop?(state: unknown, sandboxes: UserSandboxes, chat: string): Promise<void>;
}

/** Why the signal of a turn fired. */
export type TurnStop = 'interrupt' | 'timeout' | 'host-ends';

export function stopReason(signal: AbortSignal): TurnStop | undefined {
  if (!signal.aborted) return undefined;
  const { reason } = signal;
  return reason === 'timeout' || reason === 'host-ends' ? reason : 'interrupt';
}
