import { setTimeout as delay } from 'node:timers/promises';
import { GeodeError } from '../base/errors.ts';
import { chatKey } from '../base/identity.ts';
import { noUsage } from '../base/prices.ts';
import type { AgentEventBody, DriverName } from '../seams/agent.ts';
import type { Sandboxes } from '../seams/persistent.ts';
import type { ConversationTable } from './conversation-table.ts';
import type { AgentDriver } from './driver.ts';
import type { EventFeed } from './event-feed.ts';
import { lostHosts, mostLostHosts, mostStarts, pauseBefore } from './lost-hosts.ts';
import { openCalls, unfinished } from './open-calls.ts';
import type { RunningTurns } from './running-turns.ts';
import type { TurnRow, TurnTable } from './turn-table.ts';

interface ResumedTurnsParts {
  readonly conversations: ConversationTable;
  readonly turns: TurnTable;
  readonly feed: EventFeed;
  readonly running: RunningTurns;
  readonly sandboxes: Sandboxes;
  readonly driver: (name: DriverName) => AgentDriver;
  readonly keepEvents: number;
  /** Fires when the host ends. */
  readonly ending: AbortSignal;
}

/** Continues the turns that an earlier host left open. */
export class ResumedTurns {
  readonly #parts: ResumedTurnsParts;
  /** By chat: ends the pause before the turn. */
  readonly #paused = new Map<string, AbortController>();

  constructor(parts: ResumedTurnsParts) {
    this.#parts = parts;
  }

  async resume(user: string, chat: string, turn: TurnRow): Promise<void> {
    const { conversations, turns, feed, running, sandboxes, driver: driverOf, ending } = this.#parts;
    const conversation = conversations.get(user, chat);
    try {
      const lost = lostHosts(turns.ofTurn(turn));
      if (lost > mostLostHosts || turn.starts >= mostStarts)
        throw new GeodeError(
          'agent_failed',
          `${lost} hosts in a row ended during this turn before its next step, so it is not tried again.`,
        );
      if (await this.#isStopped(chatKey(user, chat), pauseBefore(lost))) {
        const usage = { usage: noUsage, cost: null, durationMs: Date.now() - turn.startedAt };
        this.#end(turn, { type: 'result', outcome: 'interrupted', text: '', ...usage });
        return;
      }
      const driver = driverOf(conversation.driver);
      const sandbox = await driver.open(sandboxes.of(user), chat, ending, conversation.model);
      const row = turns.resumeTurn(turn);
      feed.notify(conversation.id);
      running.launch({ driver, conversation, row, sandbox });
    } catch (error) {
      if (ending.aborted) return;
      const { code, message, hint } =
        error instanceof GeodeError ? error : new GeodeError('internal', String(error), { cause: error });
      this.#end(turn, { type: 'error', code, message, hint });
    }
  }

  /** Ends a turn that has not been resumed yet. False if none waits. */
  stop(user: string, chat: string): boolean {
    const paused = this.#paused.get(chatKey(user, chat));
    paused?.abort();
    return paused !== undefined;
  }

  /** Waits. True when the turn was stopped; throws when the host ends. */
  async #isStopped(key: string, pauseMs: number): Promise<boolean> {
    if (pauseMs === 0) return false;
    const { ending } = this.#parts;
    const stop = new AbortController();
    this.#paused.set(key, stop);
    try {
      await delay(pauseMs, undefined, { signal: AbortSignal.any([stop.signal, ending]) });
      return false;
    } catch (error) {
      if (ending.aborted) throw error;
      return true;
    } finally {
      this.#paused.delete(key);
    }
  }

  #end(turn: TurnRow, last: AgentEventBody): void {
    const { turns, feed, keepEvents } = this.#parts;
    const open = openCalls(turns.ofTurn(turn)).map((call) =>
      unfinished(call, 'The turn ended during this call.'),
    );
    turns.endTurn(turn, [...open, last], keepEvents);
    feed.notify(turn.conversation);
  }
}
