import { useQuery } from '@tanstack/react-query';
import { client } from './api.ts';
import { nameText, plainText, timeText } from './shown.ts';
import { text } from './text.ts';
import { Badge } from './ui/badge.tsx';
import { ActionButton } from './ui/button.tsx';
import { Card, Empty } from './ui/card.tsx';
import { TextArea } from './ui/field.tsx';
import { ActionForm } from './ui/form.tsx';
import { Answer } from './ui/query.tsx';

export function Crystals() {
  const crystals = useQuery({ queryKey: ['solves', 'crystals'], queryFn: () => client.solves.crystals() });
  return (
    <Card title={text.solve.crystals}>
      <Answer of={crystals}>
        {(all) =>
          all.length === 0 ? (
            <Empty>{text.solve.noCrystals}</Empty>
          ) : (
            <ul className="flex flex-col gap-2">
              {all.map(({ key, problem, solution, language, trust, successes, failures, pinned, at }) => (
                <li key={key} className="border-b border-line pb-2">
                  <div className="flex flex-wrap items-center gap-2">
                    <span className="min-w-0 flex-1 break-words">{nameText(problem.slice(0, 300))}</span>
                    {pinned && <Badge tone="good">{text.solve.pinned}</Badge>}
                    <Badge>
                      {text.solve.trust} {trust.toFixed(2)} ({successes}:{failures})
                    </Badge>
                    <ActionButton act={() => client.solves.change(key, { pinned: !pinned })}>
                      {pinned ? text.solve.unpin : text.solve.pin}
                    </ActionButton>
                    <ActionButton
                      kind="button-bad"
                      ask={text.solve.forgetAsk}
                      act={() => client.solves.forget(key)}
                    >
                      {text.solve.forget}
                    </ActionButton>
                  </div>
                  <details>
                    <summary className="text-faint">
                      {language}, {timeText(at)}
                    </summary>
                    <pre className="output mt-2">{plainText(solution)}</pre>
                    <ActionForm
                      submit={text.actions.save}
                      act={({ next = '' }) => client.solves.change(key, { problem: next })}
                    >
                      <TextArea label={text.solve.problem} name="next" defaultValue={problem} required />
                    </ActionForm>
                  </details>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Card>
  );
}
