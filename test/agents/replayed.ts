import { expect } from 'vitest';
import type { GeodeClient } from '../../src/client/client.ts';
import type { ReplayEvent, ReplayOptions } from '../../src/seams/replay.ts';

/** Plays a turn again, to its end. */
export async function replayed(client: GeodeClient, chat: string, turn: string, options: ReplayOptions = {}) {
  const events: ReplayEvent[] = [];
  for await (const event of client.turns.replay(chat, turn, options)) events.push(event);
  const end = events.at(-1);
  if (end?.type !== 'replay-end') throw expect.unreachable('The replay had no end.');
  const results = events.flatMap((event) => (event.type === 'replay-call' ? [event.result] : []));
  return { events, results, end };
}
