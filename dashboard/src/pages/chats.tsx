import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { isGeodeError } from '../../../src/client/client.ts';
import type { ChatEvent } from '../../../src/core/chat.ts';
import { client, readSession } from '../api.ts';
import { goTo, pathTo } from '../route.ts';
import { agoText, nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Badge } from '../ui/badge.tsx';
import { ActionButton } from '../ui/button.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { TextArea, TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Problem } from '../ui/problem.tsx';
import { Answer } from '../ui/query.tsx';

export function ChatsPage({ chat }: { readonly chat: string | undefined }) {
  const chats = useQuery({
    queryKey: ['chats'],
    queryFn: () => client.chats.list(),
    refetchInterval: 10_000,
  });
  const session = useQuery({ queryKey: ['session'], queryFn: readSession });
  if (isGeodeError(chats.error, 'route_not_found'))
    return (
      <div className="flex flex-col gap-4">
        <h1>{text.chats.title}</h1>
        <Empty>{text.chats.notServed}</Empty>
      </div>
    );
  return (
    <div className="flex flex-col gap-4">
      <h1>{text.chats.title}</h1>
      {chat !== undefined && <OneChat key={chat} chat={chat} />}
      <Card title={text.chats.list}>
        <Answer of={chats}>
          {(all) =>
            all.length === 0 ? (
              <Empty>{text.chats.none}</Empty>
            ) : (
              <ul>
                {all.map(({ name, channel, activeAt }) => (
                  <li key={name} className="flex items-center gap-2 border-b border-line py-1.5">
                    <a className="min-w-0 flex-1 truncate" href={`#${pathTo('chats', name)}`}>
                      {nameText(name)}
                    </a>
                    <Badge>{channel}</Badge>
                    <span className="text-faint">{agoText(activeAt)}</span>
                  </li>
                ))}
              </ul>
            )
          }
        </Answer>
      </Card>
      <Card title={text.chats.begin}>
        <ActionForm
          submit={text.chats.send}
          act={async ({ name = '', message = '' }) => {
            await client.chats.post(name, { text: message });
            goTo('chats', name);
          }}
        >
          <TextField label={text.chats.name} name="name" required />
          <TextArea label={text.chats.message} name="message" required />
        </ActionForm>
      </Card>
      {session.data?.scopes.includes('admin') && <Pairings />}
    </div>
  );
}

function OneChat({ chat }: { readonly chat: string }) {
  const { messages, draft, error } = useChat(chat);
  return (
    <Card title={nameText(chat)} side={<a href={`#${pathTo('agents', chat)}`}>{text.agents.title}</a>}>
      {error !== undefined && <Problem error={error} />}
      <ol aria-live="polite" className="mb-3 flex flex-col gap-2">
        {messages.map((event) => (
          <li
            key={event.seq}
            className={`max-w-[90%] rounded-md border border-line p-2 break-words whitespace-pre-wrap ${event.type === 'message' ? 'self-end bg-page' : 'self-start'}`}
          >
            {event.type === 'message' && <span className="text-faint">{nameText(event.sender)}: </span>}
            {event.text.split('\n').map(nameText).join('\n')}
            {event.type === 'reply' && event.state === 'failed' && <Badge tone="bad">{event.state}</Badge>}
          </li>
        ))}
        {draft !== '' && (
          <li className="max-w-[90%] self-start rounded-md border border-line p-2 break-words whitespace-pre-wrap">
            {draft.split('\n').map(nameText).join('\n')}
          </li>
        )}
      </ol>
      <ActionForm
        submit={text.chats.send}
        act={({ message = '' }) => client.chats.post(chat, { text: message })}
      >
        <TextArea label={text.chats.message} name="message" rows={2} required />
      </ActionForm>
    </Card>
  );
}

function Pairings() {
  const pairings = useQuery({ queryKey: ['pairings'], queryFn: () => client.chats.pairings() });
  const channels = useQuery({ queryKey: ['channels'], queryFn: () => client.chats.channels() });
  return (
    <Card title={text.chats.pairings}>
      <Answer of={channels}>
        {(all) => (
          <p className="mb-2 break-words text-faint">
            {all.length === 0
              ? text.chats.noChannels
              : all.map(({ channel, state }) => `${channel}: ${state}`).join(', ')}
          </p>
        )}
      </Answer>
      <Answer of={pairings}>
        {(all) =>
          all.length === 0 ? (
            <Empty>{text.chats.noPairings}</Empty>
          ) : (
            <ul>
              {all.map(({ code, channel, sender, name }) => (
                <li key={code} className="flex items-center gap-2 py-1">
                  <span className="min-w-0 flex-1 truncate">
                    {nameText(`${channel}: ${name} (${sender})`)}
                  </span>
                  <ActionButton act={() => client.chats.pair(code, 'local')}>{text.chats.pair}</ActionButton>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Card>
  );
}

type Kept = Extract<ChatEvent, { seq: number }>;

const mostShown = 500;

function useChat(chat: string) {
  const [messages, setMessages] = useState<readonly Kept[]>([]);
  const [draft, setDraft] = useState('');
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const left = new AbortController();
    const follow = async () => {
      setMessages([]);
      for await (const event of client.chats.events(chat, { signal: left.signal })) {
        if (event.type === 'text-delta') setDraft((before) => before + event.text);
        else if (event.type === 'message' || event.type === 'reply') {
          if (event.type === 'reply') setDraft('');
          setMessages((before) =>
            [...before.filter(({ seq }) => seq !== event.seq), event].slice(-mostShown),
          );
        }
      }
    };
    follow().catch((thrown: unknown) => {
      if (!left.signal.aborted && !isGeodeError(thrown, 'cancelled')) setError(thrown);
    });
    return () => left.abort();
  }, [chat]);
  return { messages, draft, error };
}
