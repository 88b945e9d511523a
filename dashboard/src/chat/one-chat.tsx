import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Box, ChevronLeft, PanelRight } from 'lucide-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import { isGeodeError } from '../../../src/client/client.ts';
import { client } from '../api.ts';
import { useLive } from '../live.ts';
import { goTo, pathTo } from '../route.ts';
import { costText, nameText, shortNumber } from '../shown.ts';
import { text } from '../text.ts';
import { State } from '../ui/badge.tsx';
import { Bar } from '../ui/bar.tsx';
import { Problem } from '../ui/problem.tsx';
import { contextOf } from './agent-events.ts';
import { uploaded, withPaths } from './attachments.ts';
import { ChatMenu } from './chat-menu.tsx';
import { ChatPart } from './chat-part.tsx';
import { Composer, type Outgoing } from './composer.tsx';
import { itemsOf } from './conversation.ts';
import { useAgentEvents } from './follow-agent.ts';
import { useChat } from './follow-chat.ts';
import { ForkChat, type ForkPoint } from './fork-chat.tsx';
import { MessageList } from './message-list.tsx';
import { queued, setQueue, useQueue } from './queue.ts';
import { QueuedMessages } from './queued-messages.tsx';
import { markSeen } from './seen.ts';
import { SpokenAnswers } from './spoken-answers.tsx';

interface Shown {
  readonly chat: string;
  readonly part: string | undefined;
  readonly item: string | undefined;
  readonly isWide: boolean;
}

export function OneChat({ chat, part: asked, item, isWide }: Shown) {
  // `/chat/NAME/at/SEQ` is one message of the conversation.
  const part = asked === 'at' ? undefined : asked;
  const at = asked === 'at' ? Number(item) : undefined;
  if (isWide && part !== undefined) return <ChatPart chat={chat} part={part} item={item} isWide />;
  return (
    <div className="flex min-h-0 flex-1">
      <div className={`flex min-h-0 min-w-0 flex-1 flex-col ${part === undefined ? '' : 'max-lg:hidden'}`}>
        <Conversation chat={chat} hasPart={part !== undefined} at={at} />
      </div>
      {part !== undefined && <ChatPart chat={chat} part={part} item={item} isWide={false} />}
    </div>
  );
}

interface ConversationShown {
  readonly chat: string;
  readonly hasPart: boolean;
  /** The number of the message to show. */
  readonly at: number | undefined;
}

function Conversation({ chat, hasPart, at }: ConversationShown) {
  const followed = useChat(chat);
  const agents = useQuery({ queryKey: ['agents'], queryFn: () => client.agents.list() });
  const agent = agents.data?.find((each) => each.chat === chat);
  const events = useAgentEvents(chat, agent !== undefined);
  const approvals = useQuery({
    queryKey: ['approvals', 'chat', chat],
    queryFn: () => client.approvals.list({ chat, state: 'all', limit: 200 }),
  });
  const known = useMemo(
    () => new Map((approvals.data ?? []).map((each) => [each.id, each])),
    [approvals.data],
  );
  const asking = [...known.values()].filter(({ state }) => state === 'open');
  const items = useMemo(() => {
    const all = itemsOf(followed.messages, events);
    const shown = new Set(all.flatMap((each) => (each.type === 'approval' ? [each.id] : [])));
    // A program of the sandbox asks too; its question has no place among the steps.
    const others = asking.filter(({ id }) => !shown.has(id));
    return [...all, ...others.map(({ id }) => ({ type: 'approval' as const, key: `approval ${id}`, id }))];
  }, [followed.messages, events, asking]);
  const isWorking = agent?.state === 'running' || followed.isWaiting;
  // Just after a reload the agent's state is unknown; a waiting message must not be sent then.
  const isReady = !isWorking && agents.data !== undefined && followed.messages.length > 0;
  const [given, setGiven] = useState({ words: '', turn: 0 });
  const edit = (words: string) => setGiven(({ turn }) => ({ words, turn: turn + 1 }));
  const [forking, setForking] = useState<ForkPoint>();
  const own = items.findLast((each) => each.type === 'own');
  const count = items.length;
  useEffect(() => {
    if (count > 0) markSeen(chat);
  }, [chat, count]);
  const context = contextOf(events);
  const stop = useStop(chat, agent?.state === 'running', isWorking);
  return (
    <>
      <Bar
        title={nameText(chat)}
        before={
          <a href="#/chat" className="icon-button lg:hidden" aria-label={text.nav.back}>
            <ChevronLeft aria-hidden size={20} strokeWidth={1.75} />
          </a>
        }
        state={<ChatState isAsking={asking.length > 0} isWorking={isWorking} />}
      >
        {agent !== undefined && (
          <a
            href={`#${pathTo('chat', chat, 'cost')}`}
            className="figures flex gap-3 text-muted no-underline max-md:hidden"
          >
            {context !== undefined && (
              <span title={text.talk.contextHow}>{text.talk.context(shortNumber(context))}</span>
            )}
            {agent.cost > 0 && <span>{costText(agent.cost)}</span>}
          </a>
        )}
        <a
          href={`#${pathTo('sandboxes', chat)}`}
          className="icon-button"
          aria-label={text.home.sandbox}
          title={text.home.sandbox}
        >
          <Box aria-hidden size={16} strokeWidth={1.75} />
        </a>
        <a
          href={`#${hasPart ? pathTo('chat', chat) : pathTo('chat', chat, 'files')}`}
          className="icon-button"
          aria-label={hasPart ? text.chat.hidePart : text.chat.showPart}
          title={hasPart ? text.chat.hidePart : text.chat.showPart}
        >
          <PanelRight aria-hidden size={16} strokeWidth={1.75} />
        </a>
        <ChatMenu chat={chat} />
      </Bar>
      {followed.error !== undefined && !isGeodeError(followed.error, 'route_not_found') && (
        <Problem error={followed.error} />
      )}
      <MessageList
        chat={chat}
        items={items}
        isLoading={items.length === 0 && (agent?.turns ?? 0) > 0}
        at={at}
        approvals={known}
        onEdit={edit}
        onFork={setForking}
        onOpenFile={(path) => goTo('chat', chat, 'files', path)}
      />
      {forking !== undefined && <ForkChat chat={chat} at={forking} onClose={() => setForking(undefined)} />}
      <SpokenAnswers items={items} isWorking={isWorking} />
      <Writing
        chat={chat}
        isWorking={isWorking}
        isReady={isReady}
        given={given}
        onEdit={edit}
        onStop={stop}
        lastWords={own?.type === 'own' ? own.text : ''}
      />
    </>
  );
}

/** A message that the agent has not begun with cannot be stopped yet: it is stopped as soon as it begins. */
function useStop(chat: string, isRunning: boolean, isWorking: boolean): () => void {
  const [isWanted, setWanted] = useState(false);
  useEffect(() => {
    if (!isWanted) return;
    if (isRunning) void client.chats.post(chat, { text: '/stop' });
    if (isRunning || !isWorking) setWanted(false);
  }, [chat, isWanted, isRunning, isWorking]);
  return () => {
    if (!isRunning) void client.chats.post(chat, { text: '/stop all' });
    setWanted(true);
  };
}

function ChatState({ isAsking, isWorking }: { readonly isAsking: boolean; readonly isWorking: boolean }) {
  if (isAsking) return <State state="waiting">{text.chat.states.waiting}</State>;
  return isWorking ? <State state="working">{text.chat.states.working}</State> : null;
}

interface WritingShown {
  readonly chat: string;
  readonly isWorking: boolean;
  /** The agent is known to wait for a message. */
  readonly isReady: boolean;
  readonly given: { readonly words: string; readonly turn: number };
  readonly onEdit: (words: string) => void;
  readonly onStop: () => void;
  readonly lastWords: string;
}

/** The composer with the messages that wait above it. They are sent, one after the other, when the agent is ready. */
function Writing({ chat, isWorking, isReady, given, onEdit, onStop, lastWords }: WritingShown) {
  const queue = useQueue(chat);
  const queries = useQueryClient();
  const { state } = useLive();
  const isSending = useRef(false);
  const post = async (words: string, during?: 'steer') => {
    await client.chats.post(chat, { text: words, ...(during !== undefined && { during }) });
    await queries.invalidateQueries({ queryKey: ['agents'] });
  };
  const [next] = queue;
  useEffect(() => {
    if (!isReady || next === undefined || state !== 'live' || isSending.current) return;
    isSending.current = true;
    setQueue(chat, queued(chat).slice(1));
    client.chats
      .post(chat, { text: next })
      .catch(() => setQueue(chat, [next, ...queued(chat)]))
      .finally(() => {
        isSending.current = false;
      });
  }, [chat, isReady, next, state]);
  const send = async ({ words, files, isNow }: Outgoing) => {
    const whole = withPaths(words, await uploaded(chat, files));
    if (!isWorking || words.startsWith('/')) return post(whole);
    if (isNow) return post(whole, 'steer');
    setQueue(chat, [...queued(chat), whole]);
  };
  const without = (at: number) =>
    setQueue(
      chat,
      queue.filter((_, index) => index !== at),
    );
  return (
    <div className="shrink-0 px-4 pb-[max(12px,env(safe-area-inset-bottom))]">
      <div className="mx-auto max-w-[744px]">
        {queue.length > 0 && (
          <QueuedMessages
            queue={queue}
            onDrop={without}
            onEdit={(at) => {
              onEdit(queue[at] ?? '');
              without(at);
            }}
            onSayNow={(at) => {
              const words = queue[at] ?? '';
              without(at);
              post(words, 'steer').catch(() => setQueue(chat, [words, ...queued(chat)]));
            }}
          />
        )}
        <Composer
          chat={chat}
          isWorking={isWorking}
          onSend={send}
          onStop={onStop}
          given={given}
          lastWords={lastWords}
        />
      </div>
    </div>
  );
}
