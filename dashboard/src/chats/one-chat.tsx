import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { AgentTranscript } from '../agent-transcript.tsx';
import { client } from '../api.ts';
import { Markdown } from '../markdown.tsx';
import { pathTo } from '../route.ts';
import { costText, linesText, nameText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { Badge } from '../ui/badge.tsx';
import { ActionButton } from '../ui/button.tsx';
import { Card } from '../ui/card.tsx';
import { MessageArea } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Problem } from '../ui/problem.tsx';
import { exportChat } from './export-chat.ts';
import { type ChatItem, type FollowedChat, useChat } from './follow-chat.ts';
import { Schedules } from './schedules.tsx';

export function OneChat({ chat }: { readonly chat: string }) {
  const followed = useChat(chat);
  const [isDetailed, setDetailed] = useState(false);
  const agents = useQuery({ queryKey: ['agents'], queryFn: () => client.agents.list() });
  const agent = agents.data?.find((each) => each.chat === chat);
  const state = !followed.isWaiting ? 'idle' : agent?.state === 'running' ? 'running' : 'waiting';
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <Card title={nameText(chat)} side={<Actions chat={chat} state={state} />}>
        {followed.error !== undefined && <Problem error={followed.error} />}
        <Messages chat={chat} followed={followed} state={state} />
        <ActionForm
          submit={text.chats.send}
          act={({ message = '' }) => client.chats.post(chat, { text: message })}
        >
          <MessageArea label={text.chats.message} name="message" rows={2} required />
        </ActionForm>
      </Card>
      <Card
        title={text.chats.work}
        side={
          <button
            type="button"
            className="button"
            aria-expanded={isDetailed}
            onClick={() => setDetailed(!isDetailed)}
          >
            {isDetailed ? text.chats.hideWork : text.chats.showWork}
          </button>
        }
      >
        <p className="text-faint">
          {agent === undefined
            ? text.agents.quiet
            : `${agent.driver}, ${text.agents.turns(agent.turns)}, ${costText(agent.cost)}`}
        </p>
        {isDetailed && <AgentTranscript chat={chat} />}
      </Card>
      <Schedules chat={chat} />
    </div>
  );
}

/** `waiting`: a message has no answer, and the agent has not begun with it. */
type State = 'idle' | 'waiting' | 'running';

function Actions({ chat, state }: { readonly chat: string; readonly state: State }) {
  const stop = state === 'running' ? '/stop' : '/stop all';
  return (
    <span className="flex flex-wrap gap-2">
      {state !== 'idle' && (
        <ActionButton kind="button-bad" act={() => client.chats.post(chat, { text: stop })}>
          {text.chats.stop}
        </ActionButton>
      )}
      <ActionButton act={() => exportChat(chat)}>{text.chats.export}</ActionButton>
      <a className="button" href={`#${pathTo('sandboxes', chat)}`}>
        {text.agents.sandbox}
      </a>
    </span>
  );
}

const firstShown = 100;

function Messages({
  chat,
  followed: { messages, draft, tool },
  state,
}: {
  readonly chat: string;
  readonly followed: FollowedChat;
  readonly state: State;
}) {
  const [count, setCount] = useState(firstShown);
  const last = messages.findLast((each) => each.type === 'message' && !each.text.startsWith('/'));
  return (
    <>
      {messages.length > count && (
        <button type="button" className="button mb-2" onClick={() => setCount(count * 3)}>
          {text.chats.earlier} ({messages.length - count})
        </button>
      )}
      <ol aria-live="polite" className="mb-3 flex flex-col gap-2">
        {messages.slice(-count).map((each) => (
          <li
            key={each.seq}
            className={`max-w-[90%] min-w-0 rounded-md border border-line p-2 ${each.type === 'message' ? 'self-end bg-page' : 'self-start'}`}
          >
            <OneMessage chat={chat} message={each} mayRetry={state === 'idle' && each.seq === last?.seq} />
          </li>
        ))}
        {draft !== '' && (
          <li className="max-w-[90%] self-start rounded-md border border-line p-2 break-words whitespace-pre-wrap">
            {linesText(draft)}
          </li>
        )}
      </ol>
      <p role="status" className="mb-2 text-faint">
        {tool !== undefined ? `${text.chats.uses} ${nameText(tool)}` : text.chats.states[state]}
      </p>
    </>
  );
}

interface Shown {
  readonly chat: string;
  readonly message: ChatItem;
  readonly mayRetry: boolean;
}

function OneMessage({ chat, message, mayRetry }: Shown) {
  const post = (words: string) => client.chats.post(chat, { text: words });
  if (message.type === 'message')
    return (
      <>
        <p className="flex flex-wrap items-center gap-2 text-xs text-faint">
          {nameText(message.sender)}, {timeText(message.at)}
        </p>
        <p className="break-words whitespace-pre-wrap">{linesText(message.text)}</p>
        {message.files.map((file) => (
          <p key={file}>
            <a href={`#${pathTo('sandboxes', chat, 'files', file)}`}>{nameText(file)}</a>
          </p>
        ))}
        {mayRetry && <ActionButton act={() => post(message.text)}>{text.chats.retry}</ActionButton>}
      </>
    );
  return (
    <>
      <Markdown source={message.text} />
      {message.file !== null && (
        <a href={`#${pathTo('sandboxes', chat, 'files', message.file)}`}>{nameText(message.file)}</a>
      )}
      {message.state === 'failed' && <Badge tone="bad">{message.state}</Badge>}
      {message.buttons.length > 0 && (
        <p className="mt-2 flex flex-wrap gap-2">
          {message.buttons.map(({ label, value }) => (
            <ActionButton key={value} act={() => post(value)}>
              {nameText(label)}
            </ActionButton>
          ))}
        </p>
      )}
    </>
  );
}
