import { useEffect, useState } from 'react';
import { GeodeError, isGeodeError } from '../../../src/client/client.ts';
import { client } from '../api.ts';
import { keepFollowing } from '../keep-following.ts';
import { type AgentEvent, joined } from './agent-events.ts';

const mostKept = 20_000;

/** All events of the agent of a chat, oldest first, as they happen. Drawn once a frame, however many come. */
export function useAgentEvents(chat: string, isThere: boolean): readonly AgentEvent[] {
  const [events, setEvents] = useState<readonly AgentEvent[]>([]);
  useEffect(() => {
    if (!isThere) return;
    const left = new AbortController();
    const { signal } = left;
    let known: readonly AgentEvent[] = [];
    let isDue = false;
    const drawSoon = () => {
      if (isDue) return;
      isDue = true;
      setTimeout(() => {
        isDue = false;
        if (!signal.aborted) setEvents(known);
      }, drawEveryMs);
    };
    let after = 0;
    const follow = async () => {
      for await (const event of client.agents.events(chat, { after, follow: true, signal })) {
        after = event.seq;
        known = joined(known, event).slice(-mostKept);
        drawSoon();
      }
      throw new GeodeError('server_unreachable', 'The host ended the stream');
    };
    keepFollowing(signal, follow).catch((error: unknown) => {
      // A conversation that was removed has no events any more.
      if (!isGeodeError(error)) throw error;
    });
    return () => left.abort();
  }, [chat, isThere]);
  return events;
}

const drawEveryMs = 50;
