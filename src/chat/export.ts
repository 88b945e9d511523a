import type { Cancel } from '../base/cancel.ts';
import type { AgentTurnRecord } from '../seams/agent.ts';
import type { ChatRecord } from '../seams/chat.ts';
import type { Feed } from './feed.ts';

/** The messages of a lane and the turns of its agent, by time. */
export async function* chatRecords(
  feed: Feed,
  lane: string,
  turns: Generator<AgentTurnRecord>,
  { signal }: Cancel = {},
): AsyncGenerator<ChatRecord> {
  let turn = turns.next();
  for await (const event of feed.read(lane, { follow: false, signal })) {
    if (!('seq' in event)) continue;
    for (; !turn.done && turn.value.endedAt <= event.at; turn = turns.next()) yield recordOf(turn.value);
    yield event;
  }
  for (; !turn.done && !signal?.aborted; turn = turns.next()) yield recordOf(turn.value);
}

function recordOf(turn: AgentTurnRecord): ChatRecord {
  return { type: 'turn', at: turn.endedAt, ...turn };
}
