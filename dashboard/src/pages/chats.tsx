import { useQuery } from '@tanstack/react-query';
import { isGeodeError } from '../../../src/client/client.ts';
import { client, readSession } from '../api.ts';
import { Channels } from '../chats/channels.tsx';
import { OneChat } from '../chats/one-chat.tsx';
import { Pairings } from '../chats/pairings.tsx';
import { goTo, pathTo } from '../route.ts';
import { agoText, nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Badge } from '../ui/badge.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { MessageArea, TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
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
          <MessageArea label={text.chats.first} name="message" required />
        </ActionForm>
      </Card>
      <div className="grid gap-4 lg:grid-cols-2">
        <Channels />
        {session.data?.scopes.includes('admin') && <Pairings />}
      </div>
    </div>
  );
}
