import { useQuery } from '@tanstack/react-query';
import { client } from '../api.ts';
import { agoText, nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Badge } from '../ui/badge.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { Answer } from '../ui/query.tsx';

/** How each channel is doing; one that hears nothing says since when and why. */
export function Channels() {
  const channels = useQuery({
    queryKey: ['channels'],
    queryFn: () => client.chats.channels(),
    refetchInterval: 10_000,
  });
  return (
    <Card title={text.chats.channels}>
      <Answer of={channels}>
        {(all) =>
          all.length === 0 ? (
            <Empty command="geode onboard channels">{text.chats.noChannels}</Empty>
          ) : (
            <ul>
              {all.map(({ channel, state, since, lastError, lastMessageAt }) => (
                <li key={channel} className="border-b border-line py-1.5">
                  <strong>{channel}</strong>{' '}
                  <Badge tone={state === 'connected' ? 'good' : state === 'deaf' ? 'bad' : 'warn'}>
                    {text.chats.states[state]}
                    {since !== null && `, ${agoText(since)}`}
                  </Badge>{' '}
                  {lastMessageAt !== null && (
                    <span className="text-faint">
                      {text.chats.lastMessage} {agoText(lastMessageAt)}
                    </span>
                  )}
                  {lastError !== null && <p className="break-words text-faint">{nameText(lastError)}</p>}
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Card>
  );
}
