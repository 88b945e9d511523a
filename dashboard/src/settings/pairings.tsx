import { useQuery } from '@tanstack/react-query';
import { client } from '../api.ts';
import { nameText } from '../shown.ts';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { Answer } from '../ui/query.tsx';

/** People on a platform who ask for access. */
export function Pairings() {
  const pairings = useQuery({ queryKey: ['pairings'], queryFn: () => client.chats.pairings() });
  return (
    <Card title={text.chats.pairings}>
      <Answer of={pairings}>
        {(all) =>
          all.length === 0 ? (
            <Empty command="geode chat pair">{text.chats.noPairings}</Empty>
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
