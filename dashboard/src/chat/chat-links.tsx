import { SquarePen } from 'lucide-react';
import { ListHead } from '../frame/place-list.tsx';
import { pathTo, useRoute } from '../route.ts';
import { nameText, shortAgoText } from '../shown.ts';
import { text } from '../text.ts';
import { Dot } from '../ui/badge.tsx';
import { type ChatSummary, useChats } from './use-chats.ts';

/** All chats, those of today first. */
export function ChatLinks() {
  const [place, current] = useRoute();
  const chats = useChats();
  return (
    <nav aria-label={text.chat.list}>
      <ListHead
        title={text.chat.list}
        action={
          <a href="#/chat" className="icon-button" aria-label={text.chat.new} title={text.chat.new}>
            <SquarePen aria-hidden size={16} strokeWidth={1.75} />
          </a>
        }
      />
      {chats.length === 0 && <p className="px-2 text-sm text-faint">{text.chat.none}</p>}
      {byAge(chats).map(([name, found]) => (
        <section key={name} aria-label={name}>
          <h3 className="px-2 py-1 text-xs font-medium text-faint">{name}</h3>
          <ul>
            {found.map((chat) => (
              <li key={chat.name}>
                <ChatLink chat={chat} isCurrent={place === 'chat' && chat.name === current} />
              </li>
            ))}
          </ul>
        </section>
      ))}
    </nav>
  );
}

function ChatLink({
  chat: { name, state, isUnread, activeAt },
  isCurrent,
}: {
  readonly chat: ChatSummary;
  readonly isCurrent: boolean;
}) {
  const isNew = isUnread && !isCurrent;
  return (
    <a
      href={`#${pathTo('chat', name)}`}
      aria-current={isCurrent ? 'page' : undefined}
      className={`row-link ${isNew ? 'font-semibold' : ''}`}
    >
      <span className="flex w-2 justify-center">
        {state === 'waiting' && <Dot state="waiting" />}
        {state === 'working' && <Dot state="working" />}
        {state === 'idle' && isNew && <Dot state="working" />}
      </span>
      <span className="min-w-0 flex-1 truncate">{nameText(name)}</span>
      {state !== 'idle' && <span className="sr-only">{text.chat.states[state]}</span>}
      {isNew && <span className="sr-only">{text.chat.unread}</span>}
      <span className="text-sm text-faint">{state === 'idle' ? shortAgoText(activeAt) : ''}</span>
    </a>
  );
}

const dayMs = 86_400_000;

function byAge(chats: readonly ChatSummary[]): readonly (readonly [string, readonly ChatSummary[]])[] {
  const midnight = new Date().setHours(0, 0, 0, 0);
  const groupOf = ({ activeAt }: ChatSummary) => {
    if (activeAt >= midnight) return text.chat.ages.today;
    if (activeAt >= midnight - dayMs) return text.chat.ages.yesterday;
    return activeAt >= midnight - 7 * dayMs ? text.chat.ages.week : text.chat.ages.older;
  };
  return Object.values(text.chat.ages)
    .map((name) => [name, chats.filter((chat) => groupOf(chat) === name)] as const)
    .filter(([, found]) => found.length > 0);
}
