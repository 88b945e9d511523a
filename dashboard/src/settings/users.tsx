import { useQuery } from '@tanstack/react-query';
import { Users as UsersIcon } from 'lucide-react';
import { client } from '../api.ts';
import { nameText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
import { Card, EmptyPlace } from '../ui/card.tsx';
import { Command } from '../ui/command.tsx';
import { Answer } from '../ui/query.tsx';

/** People on channels, and the users that they act as. */
export function Users() {
  const senders = useQuery({
    queryKey: ['chats', 'senders'],
    queryFn: () => client.chats.senders(),
    retry: false,
  });
  return (
    <>
      <Card title={text.settings.people} isFlush>
        <Answer of={senders}>
          {(all) =>
            all.length === 0 ? (
              <EmptyPlace icon={UsersIcon} title={text.settings.noPeople} command="geode chat pair">
                {text.settings.noPeopleHow}
              </EmptyPlace>
            ) : (
              <ul>
                {all.map(({ channel, sender, name, user, pairedAt }) => (
                  <li
                    key={`${channel} ${sender}`}
                    className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2 last:border-b-0"
                  >
                    <div className="min-w-0 flex-1">
                      <p className="break-words">{text.settings.actsAs(nameText(name), nameText(user))}</p>
                      <p className="text-sm text-faint">
                        {nameText(channel)}, {timeText(pairedAt)}
                      </p>
                    </div>
                    <ActionButton
                      kind="button-bad"
                      ask={text.settings.unpairAsk}
                      act={() => client.chats.unpair(channel, sender)}
                    >
                      {text.actions.remove}
                    </ActionButton>
                  </li>
                ))}
              </ul>
            )
          }
        </Answer>
      </Card>
      <p className="text-muted">{text.settings.userLink}</p>
      <Command line="geode dashboard --user alice" />
    </>
  );
}
