import { useQuery } from '@tanstack/react-query';
import { client } from '../api.ts';
import { goTo } from '../route.ts';
import { nameText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
import { Card } from '../ui/card.tsx';
import { TextArea } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Answer } from '../ui/query.tsx';

/** One entry with its sources and earlier versions. A change is its next version. */
export function MemoryEntry({ id }: { readonly id: string }) {
  const entry = useQuery({
    queryKey: ['memory', 'entry', id],
    queryFn: () => client.get(id, { versions: true }),
  });
  return (
    <Card
      title={nameText(id)}
      side={
        <ActionButton
          kind="button-bad"
          ask={text.memory.forgetAsk}
          act={async () => {
            await client.remove(id);
            goTo('knowledge', 'memory');
          }}
        >
          {text.memory.forget}
        </ActionButton>
      }
    >
      <Answer of={entry}>
        {({ content, category, tags, sources, version, uses, versions = [] }) => (
          <div className="flex flex-col gap-3">
            <p className="break-words text-faint">
              {text.memory.version} {version}, {category}, {text.memory.source}:{' '}
              {nameText(sources.join(', '))}
              {tags.length > 0 && `, ${nameText(tags.join(', '))}`}
            </p>
            <p className="text-faint">
              {text.memory.recalled} {uses.recalled}×, {text.memory.helped} {uses.helped}, {text.memory.hurt}{' '}
              {uses.hurt}
            </p>
            <ActionForm
              key={version}
              submit={text.actions.save}
              act={({ content: next = '' }) =>
                client.put(id, { content: next, category, tags, source: sources[0] ?? 'dashboard' })
              }
            >
              <TextArea label={text.memory.content} name="content" required rows={6} defaultValue={content} />
            </ActionForm>
            {versions.length > 0 && (
              <details>
                <summary>
                  {text.memory.versions} ({versions.length})
                </summary>
                <ul className="mt-2 flex flex-col gap-2">
                  {versions.map((each) => (
                    <li key={each.version}>
                      <span className="text-faint">
                        {each.version}, {timeText(each.updated_at)}
                      </span>
                      <pre className="output">{nameText(each.content)}</pre>
                    </li>
                  ))}
                </ul>
              </details>
            )}
          </div>
        )}
      </Answer>
    </Card>
  );
}
