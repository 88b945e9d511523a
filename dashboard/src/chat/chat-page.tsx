import type { PlaceProps } from '../page.tsx';
import { NewChat } from './new-chat.tsx';
import { OneChat } from './one-chat.tsx';

export function ChatPage({ rest: [chat, part, item], isWide }: PlaceProps) {
  if (chat === undefined) return <NewChat />;
  return <OneChat key={chat} chat={chat} part={part} item={item} isWide={isWide} />;
}
