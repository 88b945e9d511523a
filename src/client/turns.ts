/** Recorded turns of agents of the calling user. */
import type { Cancel } from '../base/cancel.ts';
import type { RecordedTurn, ReplayEvent, ReplayOptions } from '../seams/replay.ts';
import { callsOf } from './calls.ts';
import type { ApiConnection } from './send.ts';

export interface RemoteTurns {
  /** Newest first. */
  list(chat: string, options?: Cancel): Promise<readonly RecordedTurn[]>;
  /** Leaving the loop ends the replay. */
  replay(chat: string, turn: string, options?: ReplayOptions): AsyncGenerator<ReplayEvent>;
}

export function remoteTurns(connection: ApiConnection): RemoteTurns {
  const calls = callsOf(connection, 'turns');
  return {
    list: calls.list,
    replay: (chat, turn, { model, keep, signal } = {}) =>
      calls.replay(chat, turn, { model, keep }, { signal }),
  };
}
