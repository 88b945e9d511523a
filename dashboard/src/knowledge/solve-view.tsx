import { useQuery } from '@tanstack/react-query';
import type { RemoteSolve } from '../../../src/client/client.ts';
import { client } from '../api.ts';
import { Code } from '../code.tsx';
import { costText, nameText, plainText } from '../shown.ts';
import { text } from '../text.ts';
import { Badge, stateTone } from '../ui/badge.tsx';
import { ActionButton } from '../ui/button.tsx';
import { Card } from '../ui/card.tsx';
import { Answer } from '../ui/query.tsx';

/** Every attempt: its code, its output, its verdict, and the lesson of it. */
export function SolveView({ id, onResume }: { readonly id: string; readonly onResume: () => Promise<void> }) {
  const solve = useQuery({ queryKey: ['solves', id], queryFn: () => client.solves.get(id) });
  return (
    <Answer of={solve}>
      {({ problem, state, result, attempts }) => (
        <Card
          title={nameText(problem.slice(0, 200))}
          side={state === 'interrupted' && <ActionButton act={onResume}>{text.solve.resume}</ActionButton>}
        >
          {result && (
            <p className="mb-2 break-words">
              {text.solve.outcome}: <Badge>{text.solve.outcomes[result.outcome]}</Badge>{' '}
              {nameText(result.reason)} {text.solve.cost}: {costText(result.cost)}
            </p>
          )}
          <ol className="flex flex-col gap-3">
            {attempts.map((attempt, at) => (
              <li key={attempt.number}>
                <AttemptView attempt={attempt} before={attempts[at - 1]?.code ?? undefined} />
              </li>
            ))}
          </ol>
        </Card>
      )}
    </Answer>
  );
}

interface Shown {
  readonly attempt: RemoteSolve['attempts'][number];
  readonly before: string | undefined;
}

function AttemptView({
  attempt: { number, state, code, language, run, verdict, reflection, cost },
  before,
}: Shown) {
  return (
    <section className="rounded-md border border-line p-3" aria-label={`${text.solve.attempt} ${number}`}>
      <p className="mb-2 flex flex-wrap items-center gap-2">
        <strong>
          {text.solve.attempt} {number}
        </strong>
        <Badge tone={stateTone(state === 'passed' ? 'verified' : state)}>
          {text.solve.attemptStates[state]}
        </Badge>
        <span className="text-faint">{costText(cost)}</span>
      </p>
      {code !== null && (
        <Code
          label={before === undefined ? text.solve.code : text.solve.diff}
          name={language ?? ''}
          value={code}
          before={before}
        />
      )}
      {run !== null && <pre className="output mt-2">{plainText(run.stdout + run.stderr) || '–'}</pre>}
      {verdict !== null && (
        <p className="mt-2 break-words">
          {text.solve.verdict}:{' '}
          <Badge tone={stateTone(verdict.label)}>{text.solve.verdicts[verdict.label]}</Badge>{' '}
          {nameText(verdict.reason)}
        </p>
      )}
      {reflection !== null && (
        <p className="mt-2 break-words text-faint">
          {text.solve.reflection}: {nameText(reflection.cause)} {nameText(reflection.change)}
        </p>
      )}
    </section>
  );
}
