import type { Log } from '../base/log.ts';
import type { Agents } from '../seams/agent.ts';
import type { Bus } from '../seams/bus.ts';
import type { DuringTurn } from '../seams/chat.ts';
import type { EventSink } from '../seams/events.ts';
import type { Sandboxes } from '../seams/persistent.ts';
import type { ApprovalPrompts } from './approval-prompts.ts';
import type { ChatTable } from './chat-table.ts';
import type { Pairings } from './pairings.ts';
import type { Schedules } from './schedules.ts';
import type { Senders } from './senders.ts';

/** Parts for the processing of a message. */
export interface ChatParts {
  readonly bus: Bus;
  readonly chats: ChatTable;
  readonly senders: Senders;
  readonly pairings: Pairings;
  readonly approvalPrompts: ApprovalPrompts;
  readonly schedules: Schedules;
  readonly agents: Agents;
  readonly sandboxes: Sandboxes;
  readonly events: EventSink;
  readonly log: Log;
  /** Maximum size of a file, received or sent. */
  readonly mostFileBytes: number;
  /** Handling of messages during a turn, in chats without a choice of their own. */
  readonly during: DuringTurn;
  /** Throws `budget_spent`. */
  readonly checkBudget: (user: string) => void;
  /** The user's spending today and the budget, as text. */
  readonly spending: (user: string) => string;
  /** Returns what is wrong with a model name; undefined for a valid one. */
  readonly refusedModel: (name: string) => string | undefined;
}
