/**
 * Agents that live in sandboxes. Each chat of a user has one conversation. A driver holds it in the sandbox of that
 * chat: Geode's own tool loop, or the program of a coding agent.
 *
 * A message starts a turn. A turn is a sequence of numbered events that ends with exactly one `result` or `error`.
 * Every event is stored before it is sent to readers, so a reader can catch up from any number, also on another host.
 * A turn belongs to the host: it continues when its reader leaves the loop. Only `interrupt` ends it early.
 */
import type { Cancel } from '../base/cancel.ts';
import type { TokenUsage } from '../base/prices.ts';
import type { TerminalSize } from './process.ts';
import type { Change } from './snapshots.ts';

export const driverNames = ['builtin', 'claude', 'codex'] as const;
/** `acp:NAME` is the agent of that name in the config. It speaks the Agent Client Protocol. */
export type DriverName = (typeof driverNames)[number] | `acp:${string}`;

/** Actions of an agent's program that need no approval: none, changes to workspace files, or all. */
export const unaskedPermissions = ['ask', 'edits', 'all'] as const;
export type UnaskedPermission = (typeof unaskedPermissions)[number];

/** Kinds of actions that an operator can allow in advance: reading, changing workspace files, running tests. */
export const permissionClasses = ['reads', 'edits', 'tests'] as const;
export type PermissionClass = (typeof permissionClasses)[number];

/** A file attached to a message. The agent finds it below `attachments/` in its workspace. */
export interface Attachment {
  /** A file name without a path. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

export interface AgentMessage {
  readonly text: string;
  readonly attachments?: readonly Attachment[] | undefined;
  /**
   * The caller's idempotency key for this message. A second send with the same key in the same chat starts no turn:
   * it returns the events of the first one from the beginning.
   */
  readonly mark?: string | undefined;
  /**
   * Nobody is there to answer. Actions that need approval are allowed, except commands that the command policy
   * refuses: those are denied at once. The sandbox and its policies are the boundary. The turn may take up to
   * `agents.unattended_timeout`.
   */
  readonly unattended?: boolean | undefined;
}

/**
 * The options apply when a conversation starts. A later message with another driver is refused with `agent_mismatch`.
 */
export interface SendOptions extends Cancel {
  /** Default: the config's `agents.driver`. */
  readonly driver?: DriverName | undefined;
  /** `SERVICE/MODEL` for the built-in agent; for the others a name that their program knows. */
  readonly model?: string | undefined;
  /**
   * The readers of the answers (default: `private`). A conversation that once belonged to a group stays a group
   * conversation.
   */
  readonly audience?: Audience | undefined;
}

/**
 * In a `group` the agent has a memory for that chat only, so nothing from the user's private chats reaches the group.
 */
export type Audience = 'private' | 'group';

/** The complete record of an ended turn. Never deleted. */
export interface AgentTurnRecord {
  readonly turn: string;
  /** Turns of one conversation share this number; `stop` ends a conversation. */
  readonly conversation: number;
  readonly driver: DriverName;
  readonly startedAt: number;
  readonly endedAt: number;
  /** Every event, with text pieces joined. */
  readonly events: readonly AgentEventBody[];
}

export interface TerminalOptions extends Omit<SendOptions, 'audience'> {
  readonly size: TerminalSize;
}

export interface ForkConversation extends Cancel {
  /** The id of the first turn that is left out. Default: the whole conversation is copied. */
  readonly before?: string | undefined;
}

/** The agent's own screen: a process of the sandbox with a terminal. Join it like any other process. */
export interface AgentTerminal {
  readonly process: string;
  /** False: it was already running. */
  readonly isNew: boolean;
}

/** `once`; or `session`: until the conversation is stopped, for calls of the same kind. */
export type PermissionAnswer = 'once' | 'session' | 'deny';

export type AgentEventBody =
  /** The first event of each turn. */
  | { readonly type: 'turn-start'; readonly driver: DriverName; readonly message: string }
  /** Another host continues the turn. Text after the last tool result may be repeated. */
  | { readonly type: 'turn-resume' }
  /** The connection to the model broke: text after the last tool result or `usage` is void and will be sent again. */
  | { readonly type: 'answer-restart' }
  /** A piece of the answer. Pieces without another event between them belong together. */
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly text: string }
  | { readonly type: 'tool-call'; readonly id: string; readonly tool: string; readonly input: unknown }
  /** `output` is shortened in the middle if it is long. */
  | {
      readonly type: 'tool-result';
      readonly id: string;
      readonly tool: string;
      readonly output: string;
      readonly failed: boolean;
    }
  /** A file that changed during the turn, found by comparing snapshots; missing if the sandbox has no snapshots. */
  | { readonly type: 'file-change'; readonly path: string; readonly change: Change['change'] }
  /**
   * The turn waits for a person. `id` is an approval, which can also be decided as one. No answer in time counts as
   * denied.
   */
  | {
      readonly type: 'permission-request';
      readonly id: string;
      readonly tool: string;
      readonly input: unknown;
    }
  | { readonly type: 'permission-answer'; readonly id: string; readonly answer: PermissionAnswer }
  /** Usage of one model call; `cost` in US dollars, null if the price is unknown. */
  | {
      readonly type: 'usage';
      readonly model: string;
      readonly usage: TokenUsage;
      readonly cost: number | null;
    }
  | ({ readonly type: 'result' } & AgentResult)
  | { readonly type: 'error'; readonly code: string; readonly message: string; readonly hint: string };

export interface AgentResult {
  /** `limit`: the turn reached its maximum number of steps or its maximum duration. */
  readonly outcome: 'done' | 'interrupted' | 'limit';
  /** The complete last answer. */
  readonly text: string;
  readonly usage: TokenUsage;
  readonly cost: number | null;
  readonly durationMs: number;
}

/** `seq` grows by at least one with each event of a chat, across all its turns; `at` is in ms since 1970. */
export type AgentEvent = AgentEventBody & {
  readonly seq: number;
  readonly turn: string;
  readonly at: number;
};

export interface AgentConversation {
  readonly chat: string;
  readonly driver: DriverName;
  readonly model: string | null;
  readonly state: 'idle' | 'running';
  readonly createdAt: number;
  readonly activeAt: number;
  readonly turns: number;
  /** The number of the newest event; 0 if there are no events. */
  readonly seq: number;
  readonly cost: number;
}

/**
 * The conversations of one user, one for each chat. An unknown chat throws `agent_not_found`, except where a method
 * says otherwise.
 */
export interface UserAgents {
  /**
   * Starts a turn and yields its events to the end. Starts the conversation and its sandbox if needed. Throws
   * `agent_busy` while another turn of the chat runs.
   */
  send(chat: string, message: AgentMessage, options?: SendOptions): AsyncGenerator<AgentEvent>;
  /** Starts the conversation and its sandbox if needed, without sending a message. */
  open(chat: string, options?: Omit<SendOptions, 'audience'>): Promise<AgentConversation>;
  /**
   * Opens the agent's own screen for a person at a terminal, in the same conversation. Returns the running screen or
   * starts one. While it runs, messages are refused with `agent_busy`; while a turn runs, so is the screen. Throws
   * `invalid_input` for a driver without a screen.
   */
  terminal(chat: string, options: TerminalOptions): Promise<AgentTerminal>;
  /** Yields the events after a number, oldest first; with `follow` it waits for more until the signal fires. */
  events(
    chat: string,
    options?: { readonly after?: number | undefined; readonly follow?: boolean | undefined } & Cancel,
  ): AsyncGenerator<AgentEvent>;
  /**
   * Ends the running turn. Resolves when its processes have ended and its last event is stored. Returns false if no
   * turn was running.
   */
  interrupt(chat: string, options?: Cancel): Promise<boolean>;
  /**
   * Answers a permission request, which is an approval of the chat. Throws `approval_not_found` for an approval of
   * another chat and `approval_decided` for one that is already decided. `by` is stored in the record.
   */
  answer(chat: string, id: string, answer: PermissionAnswer, by: string): Promise<void>;
  /**
   * Sends a message to the running turn, which reads it before its next step. Returns false if no turn runs or its
   * agent cannot take messages during a turn. True does not mean that the message was read: the event `steered` does.
   * Calls with the same `mark` count once.
   */
  steer(chat: string, message: { readonly text: string; readonly mark: string }): boolean;
  /** Whether a turn of this conversation has read the message with this mark. */
  steered(chat: string, mark: string): boolean;
  /** Whether a message with this mark has begun a turn, which may be over. */
  hasTurn(chat: string, mark: string): boolean;
  /** Every ended turn of this chat, oldest first, across all its conversations, stopped ones included. */
  transcript(chat: string): Generator<AgentTurnRecord>;
  /** Deletes the conversation and its events; keeps its transcript, the sandbox and the files. Returns false if there is no such conversation. */
  stop(chat: string, options?: Cancel): Promise<boolean>;
  /**
   * Copies the conversation and its sandbox into a new chat: with `before`, the turns before that one and the files as
   * they were then; without it everything, which throws `agent_busy` while a turn runs. The tools that a person
   * allowed are asked about again. Throws `turn_not_found`, `snapshot_not_found` if the files of that time are not
   * saved any more (or the state of its agent was not), and `sandbox_exists` if the new chat has a sandbox or a conversation.
   */
  fork(chat: string, to: string, options?: ForkConversation): Promise<AgentConversation>;
  /** The most recently active first. */
  list(): readonly AgentConversation[];
  get(chat: string): AgentConversation;
}

export interface Agents extends AsyncDisposable {
  /** The agents of this host. */
  readonly drivers: readonly DriverName[];
  of(user: string): UserAgents;
}
