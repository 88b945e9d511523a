/**
 * Agents that live in sandboxes. A chat of a user has one conversation, held in the sandbox of that chat by a driver:
 * Geode's own tool loop, or a coding agent's program.
 *
 * A message begins a turn. A turn is a row of numbered events that ends with exactly one `result` or `error`. Every
 * event is stored before it is sent to readers, so a reader can catch up from any number, also on another host.
 * A turn belongs to the host, not to its reader: a reader that leaves the loop does not end the turn. `interrupt` does.
 */
import type { Cancel } from '../base/cancel.ts';
import type { TokenUsage } from '../base/prices.ts';
import type { TerminalSize } from './process.ts';
import type { Change } from './snapshots.ts';

export const driverNames = ['builtin', 'claude', 'codex'] as const;
/** `acp:NAME` is the agent of that name in the config, which speaks the Agent Client Protocol. */
export type DriverName = (typeof driverNames)[number] | `acp:${string}`;

/** Actions of an agent's program that need no approval: none, changes to workspace files, or all. */
export const unaskedPermissions = ['ask', 'edits', 'all'] as const;
export type UnaskedPermission = (typeof unaskedPermissions)[number];

/** Kinds of acts that an operator may allow ahead: reading, changing files of the workspace, running its tests. */
export const permissionClasses = ['reads', 'edits', 'tests'] as const;
export type PermissionClass = (typeof permissionClasses)[number];

/** A file that comes with a message. The agent finds it below `attachments/` in its workspace. */
export interface Attachment {
  /** A name, never a path. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

export interface AgentMessage {
  readonly text: string;
  readonly attachments?: readonly Attachment[] | undefined;
  /**
   * The caller's own mark of this message. Sending a mark again in the same chat begins no second turn: the events of
   * the first are given from its beginning.
   */
  readonly mark?: string | undefined;
  /**
   * Nobody is there to answer: what the agent would ask for is allowed, except commands that the command policy refuses,
   * which are denied at once. The sandbox and its policy are the boundary. The turn may take `agents.unattended_timeout`.
   */
  readonly unattended?: boolean | undefined;
}

/** The options apply when a conversation starts; a later message with another driver is refused with `agent_mismatch`. */
export interface SendOptions extends Cancel {
  /** The config's `agents.driver` by default. */
  readonly driver?: DriverName | undefined;
  /** `SERVICE/MODEL` for the built-in agent, a name that the program knows for the others. */
  readonly model?: string | undefined;
  /** The readers of the answers (default: `private`). A conversation that once belonged to a group stays a group's. */
  readonly audience?: Audience | undefined;
}

/** In a `group` an agent has a memory of that chat alone: what its user told in private is not for the others. */
export type Audience = 'private' | 'group';

/** The complete record of an ended turn. It is never deleted. */
export interface AgentTurnRecord {
  readonly turn: string;
  /** Turns of one conversation have the same number; `stop` ends a conversation. */
  readonly conversation: number;
  readonly driver: DriverName;
  readonly startedAt: number;
  readonly endedAt: number;
  /** Every event, with pieces of text joined. */
  readonly events: readonly AgentHappening[];
}

export interface TerminalOptions extends Omit<SendOptions, 'audience'> {
  readonly size: TerminalSize;
}

/** The agent's own screen: a process of the sandbox that has a terminal, to be joined like any other. */
export interface AgentTerminal {
  readonly process: string;
  /** False: it ran already. */
  readonly isNew: boolean;
}

/** `once`, `session`: until the conversation is stopped, for the same kind of call. */
export type PermissionAnswer = 'once' | 'session' | 'deny';

export type AgentHappening =
  /** The first event of each turn. */
  | { readonly type: 'turn-start'; readonly driver: DriverName; readonly message: string }
  /** Another host continues the turn. Text since the last tool result may be repeated. */
  | { readonly type: 'turn-resume' }
  /** The connection to the model broke: text since the last `usage` is void and will be sent again. */
  | { readonly type: 'answer-restart' }
  /** A piece of the answer; the pieces between two other events belong together. */
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly text: string }
  | { readonly type: 'tool-call'; readonly id: string; readonly tool: string; readonly input: unknown }
  /** `output` is cut to its ends where it is long. */
  | {
      readonly type: 'tool-result';
      readonly id: string;
      readonly tool: string;
      readonly output: string;
      readonly failed: boolean;
    }
  /** A file that really changed during the turn, found by comparing snapshots; missing if the sandbox has no snapshots. */
  | { readonly type: 'file-change'; readonly path: string; readonly change: Change['change'] }
  /** The turn waits for a person: `id` is that of an approval, which can be decided there too. Late is denied. */
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
  /** `limit`: it took as many steps, or as long, as one turn may. */
  readonly outcome: 'done' | 'interrupted' | 'limit';
  /** The whole last answer. */
  readonly text: string;
  readonly usage: TokenUsage;
  readonly cost: number | null;
  readonly durationMs: number;
}

/** `seq` grows by at least one with each event of a chat, over all its turns; `at` is in ms since 1970. */
export type AgentEvent = AgentHappening & {
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
  /** The number of the newest event, or 0. */
  readonly seq: number;
  readonly cost: number;
}

/** The conversations of one user, one for each chat. Unknown chats are `agent_not_found`, unless it says otherwise. */
export interface UserAgents {
  /**
   * Begins a turn and gives its events up to the last. Starts the conversation and its sandbox if need be.
   * `agent_busy` while a turn of the chat runs.
   */
  send(chat: string, message: AgentMessage, options?: SendOptions): AsyncGenerator<AgentEvent>;
  /** Starts the conversation and its sandbox if need be, and says nothing. */
  open(chat: string, options?: Omit<SendOptions, 'audience'>): Promise<AgentConversation>;
  /**
   * The agent's own screen for a person at a terminal, in the same conversation: the one that runs, or a new one.
   * While it runs messages are refused with `agent_busy`, as it is while a turn runs. `invalid_input` for a driver that
   * has none.
   */
  terminal(chat: string, options: TerminalOptions): Promise<AgentTerminal>;
  /** Yields the events after a number, oldest first; with `follow` it waits for more until the signal fires. */
  events(
    chat: string,
    options?: { readonly after?: number | undefined; readonly follow?: boolean | undefined } & Cancel,
  ): AsyncGenerator<AgentEvent>;
  /** Ends the turn that runs: its processes are quiet and its last event is kept when this resolves. False: none ran. */
  interrupt(chat: string, options?: Cancel): Promise<boolean>;
  /**
   * Answers a permission request, which is an approval of the chat: `approval_not_found` for another,
   * `approval_decided` for one that is not open any more. `by` is for the record.
   */
  answer(chat: string, id: string, answer: PermissionAnswer, by: string): Promise<void>;
  /**
   * Says something to the turn that runs, which hears it before its next step. False when it cannot: no turn runs, or
   * its agent does not listen. True promises nothing yet: `steered` says whether the turn has heard it. The mark is the
   * caller's own; the same one counts once.
   */
  steer(chat: string, message: { readonly text: string; readonly mark: string }): boolean;
  /** A turn of this conversation has heard what was said under this mark. */
  steered(chat: string, mark: string): boolean;
  /** Every turn that ended in this chat, oldest first, over all its conversations: also those that were stopped. */
  transcript(chat: string): Generator<AgentTurnRecord>;
  /** Deletes the conversation and its events; keeps its transcript, the sandbox and the files. Returns false if there is no such conversation. */
  stop(chat: string, options?: Cancel): Promise<boolean>;
  /** The latest active first. */
  list(): readonly AgentConversation[];
  get(chat: string): AgentConversation;
}

export interface Agents extends AsyncDisposable {
  of(user: string): UserAgents;
}
