import { useEffect, useState } from 'react';
import type { ChatEvent } from '../../../src/core/chat.ts';
import { client } from '../api.ts';
import { keepFollowing } from '../keep-following.ts';

export type Said = Extract<ChatEvent, { seq: number }>;

export interface FollowedChat {
  /** Oldest first. */
  readonly said: readonly Said[];
  /** The answer as it grows. */
  readonly draft: string;
  /** The tool that the agent uses now. */
  readonly tool: string | undefined;
  /** A message that has no answer yet. */
  readonly isWaiting: boolean;
  readonly error: unknown;
}

const nothing: FollowedChat = { said: [], draft: '', tool: undefined, isWaiting: false, error: undefined };
const mostKept = 5000;
const drawEveryMs = 50;

/** A chat from its beginning on, as it goes. However fast it goes, it is drawn at most 20 times a second. */
export function useChat(chat: string): FollowedChat {
  const [shown, setShown] = useState(nothing);
  useEffect(() => {
    const left = new AbortController();
    let next = nothing;
    let isDue = false;
    const show = (change: Partial<FollowedChat>) => {
      next = { ...next, ...change };
      if (isDue) return;
      isDue = true;
      setTimeout(() => {
        isDue = false;
        if (!left.signal.aborted) setShown(next);
      }, drawEveryMs);
    };
    const { signal } = left;
    let after = 0;
    const follow = async () => {
      for await (const event of client.chats.events(chat, { after, signal })) {
        if ('seq' in event) after = event.seq;
        show(changeBy(event, next));
      }
    };
    keepFollowing(signal, follow).catch((error: unknown) => show({ error }));
    return () => left.abort();
  }, [chat]);
  return shown;
}

function changeBy(event: ChatEvent, { said, draft }: FollowedChat): Partial<FollowedChat> {
  switch (event.type) {
    case 'turn-start':
      return { draft: '', tool: undefined, isWaiting: true };
    case 'text-delta':
      return { draft: draft + event.text, tool: undefined };
    case 'tool-call':
      return { tool: event.tool };
    default: {
      const isKnown = said.some(({ seq }) => seq === event.seq);
      const before = isKnown ? said.filter(({ seq }) => seq !== event.seq) : said;
      const all = [...before, event].slice(-mostKept);
      const isAnswer = event.type === 'reply';
      return { said: all, isWaiting: isUnanswered(all), ...(isAnswer && { draft: '', tool: undefined }) };
    }
  }
}

/** Every message ends in a reply that says it is the last one. */
function isUnanswered(said: readonly Said[]): boolean {
  const answered = new Set(said.map((each) => (each.type === 'reply' && each.isLast ? each.answers : null)));
  return said.some((each) => each.type === 'message' && !answered.has(each.id));
}
