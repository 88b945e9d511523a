import type { Log } from '../base/log.ts';
import type { Agents } from '../seams/agent.ts';
import type { Bus } from '../seams/bus.ts';
import type { EventSink } from '../seams/events.ts';
import type { Sandboxes } from '../seams/persistent.ts';
import type { Asks } from './asks.ts';
import type { ChatTable, DuringTurn } from './chat-table.ts';
import type { Pairings } from './pairings.ts';
import type { Schedules } from './schedules.ts';
import type { Senders } from './senders.ts';

/** What the work on a message needs. */
export interface ChatParts {
  readonly bus: Bus;
  readonly chats: ChatTable;
  readonly senders: Senders;
  readonly pairings: Pairings;
  readonly asks: Asks;
  readonly schedules: Schedules;
  readonly agents: Agents;
  readonly sandboxes: Sandboxes;
  readonly events: EventSink;
  readonly log: Log;
  /** Of a file that a person sends, or that goes to one. */
  readonly mostFileBytes: number;
  /** What becomes of a message during a turn, in chats that chose nothing. */
  readonly during: DuringTurn;
  /** Throws `budget_spent`. */
  readonly checkBudget: (user: string) => void;
  /** What the user spent today and may spend, as text. */
  readonly spending: (user: string) => string;
  /** What is wrong with the name of a model; undefined for one that can be asked. */
  readonly refusedModel: (name: string) => string | undefined;
}
