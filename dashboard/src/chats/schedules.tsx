import { useQuery } from '@tanstack/react-query';
import { client } from '../api.ts';
import { nameText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Answer } from '../ui/query.tsx';

/** What is said in the chat at set times, as if its user wrote it. */
export function Schedules({ chat }: { readonly chat: string }) {
  const schedules = useQuery({
    queryKey: ['chats', 'schedules', chat],
    queryFn: () => client.chats.schedules({ chat }),
  });
  return (
    <Card title={text.chats.schedules}>
      <Answer of={schedules}>
        {(all) =>
          all.length === 0 ? (
            <Empty>{text.chats.noSchedules}</Empty>
          ) : (
            <ul className="mb-3">
              {all.map(({ id, when, text: said, next }) => (
                <li key={id} className="flex flex-wrap items-center gap-2 py-1">
                  <code>{nameText(when)}</code>
                  <span className="min-w-0 flex-1 break-words">{nameText(said)}</span>
                  <span className="text-faint">
                    {text.chats.next} {timeText(next)}
                  </span>
                  <ActionButton kind="button-bad" act={() => client.chats.unschedule(id)}>
                    {text.chats.unschedule}
                  </ActionButton>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
      <ActionForm
        submit={text.chats.schedule}
        act={({ when = '', message = '' }) => client.chats.schedule(chat, { when, text: message })}
      >
        <TextField label={text.chats.when} name="when" required placeholder="0 9 * * 1-5" />
        <TextField label={text.chats.what} name="message" required />
      </ActionForm>
    </Card>
  );
}
