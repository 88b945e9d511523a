import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { SolveEvent } from '../../../src/seams/solve.ts';
import { client } from '../api.ts';
import { goTo, pathTo } from '../route.ts';
import { costText, nameText, plainText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { Badge, stateTone } from '../ui/badge.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { Choice, TextArea } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Answer } from '../ui/query.tsx';
import { SolveView } from './solve-view.tsx';

const counts = ['1', '2', '3', '5', '10'];
const mostLive = 50_000;

export function Solves({ id }: { readonly id: string | undefined }) {
  const queries = useQueryClient();
  const [output, setOutput] = useState('');
  const solves = useQuery({ queryKey: ['solves'], queryFn: () => client.solves.list({ limit: 50 }) });
  /** Shown as it comes; each step that is kept is asked for again. */
  const watch = async (events: AsyncIterable<SolveEvent>) => {
    setOutput('');
    for await (const event of events) {
      if (event.type === 'solve-start') goTo('knowledge', 'solves', event.id);
      if (event.type === 'code-delta' || event.type === 'run-output')
        setOutput((before) => (before + plainText(event.text)).slice(-mostLive));
      else await queries.invalidateQueries({ queryKey: ['solves'] });
    }
  };
  return (
    <>
      <Card title={text.solve.problem}>
        <ActionForm
          submit={text.solve.start}
          act={({ problem = '', tests = '', attempts = '3' }) =>
            watch(
              client.solves.solve({ problem, attempts: Number(attempts), ...(tests !== '' && { tests }) }),
            )
          }
        >
          <TextArea label={text.solve.problem} name="problem" required />
          <TextArea label={text.solve.tests} name="tests" rows={3} />
          <Choice label={text.solve.attempts} name="attempts" options={counts} defaultValue="3" />
        </ActionForm>
        {output !== '' && (
          <section aria-label={text.solve.output} aria-live="polite" className="mt-3">
            <pre className="output">{output}</pre>
          </section>
        )}
      </Card>
      {id !== undefined && <SolveView key={id} id={id} onResume={() => watch(client.solves.resume(id))} />}
      <Card title={text.solve.list}>
        <Answer of={solves}>
          {(all) =>
            all.length === 0 ? (
              <Empty command='geode solve "write double(n), twice the number"'>{text.solve.empty}</Empty>
            ) : (
              <ul>
                {all.map((solve) => (
                  <li key={solve.id} className="flex min-w-0 items-center gap-2 border-b border-line py-1.5">
                    <a
                      className="min-w-0 flex-1 truncate"
                      href={`#${pathTo('knowledge', 'solves', solve.id)}`}
                    >
                      {nameText(solve.problem)}
                    </a>
                    <Badge tone={stateTone(solve.result?.outcome === 'solved' ? 'verified' : solve.state)}>
                      {text.solve.outcomes[solve.result?.outcome ?? solve.state]}
                    </Badge>
                    <span className="hidden text-faint sm:inline">
                      {timeText(solve.createdAt)} {solve.result && costText(solve.result.cost)}
                    </span>
                  </li>
                ))}
              </ul>
            )
          }
        </Answer>
      </Card>
    </>
  );
}
