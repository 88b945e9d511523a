import { useEffect, useState } from 'react';
import type { ChatEvent } from '../../../src/seams/chat.ts';
import { client } from '../api.ts';
import { keepFollowing } from '../keep-following.ts';

export type ChatItem = Extract<ChatEvent, { seq: number }>;

export interface FollowedChat {
  /** Oldest first. */
  readonly messages: readonly ChatItem[];
  /** The answer as it grows. */
  readonly draft: string;
  /** The tool that the agent uses now. */
  readonly tool: string | undefined;
  /** A message that has no answer yet. */
  readonly isWaiting: boolean;
  readonly error: unknown;
}

const nothing: FollowedChat = {
  messages: [],
  draft: '',
  tool: undefined,
  isWaiting: false,
  error: undefined,
};
const mostKept = 5000;
const drawEveryMs = 50;

/** A chat from its beginning on, as it goes. However fast it goes, it is drawn at most 20 times a second. */
export function useChat(chat: string): FollowedChat {
  const [shown, setShown] = useState(nothing);
  useEffect(() => {
    const left = new AbortController();
    const { signal } = left;
    const messages = new Map<number, ChatItem>();
    let now: Now = { draft: '', tool: undefined, isTurning: false };
    let isDue = false;
    const drawSoon = () => {
      if (isDue) return;
      isDue = true;
      setTimeout(() => {
        isDue = false;
        if (!signal.aborted) setShown(drawn(messages, now));
      }, drawEveryMs);
    };
    let after = 0;
    const follow = async () => {
      for await (const event of client.chats.events(chat, { after, signal })) {
        if ('seq' in event) {
          after = event.seq;
          keep(messages, event);
        }
        now = changedBy(event, now);
        drawSoon();
      }
    };
    setShown(nothing);
    keepFollowing(signal, follow).catch((error: unknown) => setShown({ ...drawn(messages, now), error }));
    return () => left.abort();
  }, [chat]);
  return shown;
}

/** The agent in this moment. */
interface Now extends Pick<FollowedChat, 'draft' | 'tool'> {
  readonly isTurning: boolean;
}

/** A reply that comes again, in another state, takes the place of the one before. */
function keep(messages: Map<number, ChatItem>, event: ChatItem): void {
  messages.delete(event.seq);
  messages.set(event.seq, event);
  const [oldest] = messages.keys();
  if (messages.size > mostKept && oldest !== undefined) messages.delete(oldest);
}

function changedBy(event: ChatEvent, { draft, tool, isTurning }: Now): Now {
  switch (event.type) {
    case 'turn-start':
      return { draft: '', tool: undefined, isTurning: true };
    case 'text-delta':
      return { draft: draft + event.text, tool: undefined, isTurning };
    case 'tool-call':
      return { draft, tool: event.tool, isTurning };
    case 'reply':
      return { draft: '', tool: undefined, isTurning: false };
    default:
      return { draft, tool, isTurning: false };
  }
}

function drawn(known: ReadonlyMap<number, ChatItem>, { draft, tool, isTurning }: Now): FollowedChat {
  const messages = [...known.values()];
  return { messages, draft, tool, isWaiting: isTurning || isUnanswered(messages), error: undefined };
}

/** Every message ends in a reply that says it is the last one. */
function isUnanswered(messages: readonly ChatItem[]): boolean {
  const answered = new Set(
    messages.map((each) => (each.type === 'reply' && each.isLast ? each.answers : null)),
  );
  return messages.some((each) => each.type === 'message' && !answered.has(each.id));
}
