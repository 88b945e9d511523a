import { useQuery } from '@tanstack/react-query';
import { CalendarClock } from 'lucide-react';
import { isGeodeError } from '../../../src/client/client.ts';
import { client } from '../api.ts';
import { pathTo } from '../route.ts';
import { nameText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
import { Card, EmptyPlace } from '../ui/card.tsx';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Answer } from '../ui/query.tsx';

const words = text.chat.schedule;

/** Messages that are sent to chats at set times, as if their user wrote them. */
export function Schedules() {
  const schedules = useQuery({
    queryKey: ['chats', 'schedules'],
    queryFn: async () => {
      try {
        return await client.chats.schedules();
      } catch (error) {
        if (isGeodeError(error, 'route_not_found')) return [];
        throw error;
      }
    },
  });
  return (
    <>
      <Card title={words.title} isFlush>
        <Answer of={schedules}>
          {(all) =>
            all.length === 0 ? (
              <EmptyPlace
                icon={CalendarClock}
                title={words.noneTitle}
                command='geode schedule add demo "every 2h" "look at the build"'
              >
                {words.none}
              </EmptyPlace>
            ) : (
              <ul>
                {all.map(({ id, chat, when, text: said, next }) => (
                  <li
                    key={id}
                    className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2 last:border-b-0"
                  >
                    <div className="min-w-0 flex-1">
                      <p className="break-words">{nameText(said)}</p>
                      <p className="text-sm text-faint">
                        <a href={`#${pathTo('chat', chat)}`}>{nameText(chat)}</a>, {nameText(when)},{' '}
                        {words.next} {timeText(next)}
                      </p>
                    </div>
                    <ActionButton kind="button-bad" act={() => client.chats.unschedule(id)}>
                      {words.remove}
                    </ActionButton>
                  </li>
                ))}
              </ul>
            )
          }
        </Answer>
      </Card>
      <Card title={words.add}>
        <ActionForm
          submit={words.add}
          act={({ chat = '', when = '', message = '' }) =>
            client.chats.schedule(chat, { when, text: message })
          }
        >
          <TextField label={words.chat} name="chat" required />
          <TextField label={words.when} name="when" required placeholder="0 9 * * 1-5" />
          <TextField label={words.what} name="message" required />
        </ActionForm>
      </Card>
    </>
  );
}
