import { useQuery } from '@tanstack/react-query';
import { BookOpenText } from 'lucide-react';
import { client } from '../api.ts';
import { goTo, pathTo } from '../route.ts';
import { agoText, nameText } from '../shown.ts';
import { languageText, text } from '../text.ts';
import { Bar, Content } from '../ui/bar.tsx';
import { Card, EmptyPlace } from '../ui/card.tsx';
import { Choice, TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Answer } from '../ui/query.tsx';
import { ImportNotebook } from './import-notebook.tsx';

/** The open notebooks, and new ones. */
export function ContextList() {
  const contexts = useQuery({ queryKey: ['contexts'], queryFn: () => client.contexts.list() });
  return (
    <>
      <Bar title={text.contexts.title} />
      <Content width="max-w-[860px]">
        <Card title={text.contexts.open}>
          <ActionForm
            submit={text.contexts.open}
            act={async ({ language, chat = '' }) => {
              const { id } = await client.contexts.open(language === 'javascript' ? 'javascript' : 'python', {
                ...(chat !== '' && { chat }),
              });
              goTo('code', 'notebooks', id);
            }}
          >
            <div className="grid gap-3 md:grid-cols-2">
              <Choice label={text.runs.language} name="language" options={['python', 'javascript']} />
              <TextField label={text.contexts.chat} name="chat" />
            </div>
          </ActionForm>
          <ImportNotebook />
        </Card>
        <Card title={text.contexts.list} isFlush>
          <Answer of={contexts}>
            {(all) =>
              all.length === 0 ? (
                <EmptyPlace icon={BookOpenText} title={text.contexts.noneTitle} command="geode repl python">
                  {text.contexts.none}
                </EmptyPlace>
              ) : (
                <ul>
                  {all.map(({ id, language, chat, createdAt }) => (
                    <li key={id} className="border-b border-line px-2 py-1 last:border-b-0">
                      <a className="row-link" href={`#${pathTo('code', 'notebooks', id)}`}>
                        <span className="min-w-0 flex-1 truncate font-medium">
                          {languageText(language)}, {nameText(chat ?? text.contexts.fresh)}
                        </span>
                        <span className="text-sm text-faint">{agoText(createdAt)}</span>
                      </a>
                    </li>
                  ))}
                </ul>
              )
            }
          </Answer>
        </Card>
      </Content>
    </>
  );
}
