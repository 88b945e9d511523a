import { useQuery } from '@tanstack/react-query';
import { client } from '../api.ts';
import { goTo, pathTo } from '../route.ts';
import { agoText, nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Badge } from '../ui/badge.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { Choice, TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Answer } from '../ui/query.tsx';

/** Interpreters that keep their variables. */
export function ContextList() {
  const contexts = useQuery({ queryKey: ['contexts'], queryFn: () => client.contexts.list() });
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <Card title={text.contexts.list}>
        <Answer of={contexts}>
          {(all) =>
            all.length === 0 ? (
              <Empty>{text.contexts.none}</Empty>
            ) : (
              <ul>
                {all.map(({ id, language, chat, grade, createdAt }) => (
                  <li key={id} className="flex flex-wrap items-center gap-2 border-b border-line py-1.5">
                    <a href={`#${pathTo('runs', 'contexts', id)}`}>
                      {language} {id.slice(0, 6)}
                    </a>
                    <Badge>{grade}</Badge>
                    <span className="text-faint">
                      {nameText(chat ?? text.contexts.fresh)}, {agoText(createdAt)}
                    </span>
                  </li>
                ))}
              </ul>
            )
          }
        </Answer>
      </Card>
      <Card title={text.contexts.open}>
        <ActionForm
          submit={text.contexts.open}
          act={async ({ language, chat = '' }) => {
            const { id } = await client.contexts.open(language === 'javascript' ? 'javascript' : 'python', {
              ...(chat !== '' && { chat }),
            });
            goTo('runs', 'contexts', id);
          }}
        >
          <Choice label={text.runs.language} name="language" options={['python', 'javascript']} />
          <TextField label={text.contexts.chat} name="chat" />
        </ActionForm>
      </Card>
    </div>
  );
}
