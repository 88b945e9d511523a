import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Verdict } from '../../../src/seams/solve.ts';
import { client } from '../api.ts';
import { pathTo } from '../route.ts';
import { nameText, percentText, plainText, timeText } from '../shown.ts';
import { languageText, text } from '../text.ts';
import { Badge, stateTone } from '../ui/badge.tsx';
import { ActionButton } from '../ui/button.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { TextArea } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Answer } from '../ui/query.tsx';

export function Crystals() {
  const crystals = useQuery({ queryKey: ['solves', 'crystals'], queryFn: () => client.solves.crystals() });
  return (
    <Card title={text.solve.crystals}>
      <Answer of={crystals}>
        {(all) =>
          all.length === 0 ? (
            <Empty command='geode solve "write double(n), twice the number"'>{text.solve.noCrystals}</Empty>
          ) : (
            <ul className="flex flex-col gap-2">
              {all.map((crystal) => (
                <li key={crystal.key} className="border-b border-line pb-2">
                  <CrystalView crystal={crystal} />
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Card>
  );
}

type Crystal = Awaited<ReturnType<typeof client.solves.crystal>>;

function CrystalView({ crystal }: { readonly crystal: Crystal }) {
  const { key, problem, trust, pinned, standing, broken } = crystal;
  const [verdict, setVerdict] = useState<Verdict>();
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <span className="min-w-0 flex-1 break-words">{nameText(problem.slice(0, 300))}</span>
        <Badge tone={standing === 'pinned' || standing === 'trusted' ? 'good' : 'warn'}>
          {text.solve.standings[standing]}
        </Badge>
        {broken && <Badge tone="bad">{text.solve.broken}</Badge>}
        <Badge>
          {text.solve.trust} {percentText(trust)}
        </Badge>
        <ActionButton act={async () => setVerdict((await client.solves.verify(key)).verdict)}>
          {text.solve.verify}
        </ActionButton>
        <ActionButton act={() => client.solves.change(key, { pinned: !pinned })}>
          {pinned ? text.solve.unpin : text.solve.pin}
        </ActionButton>
        <ActionButton kind="button-bad" ask={text.solve.forgetAsk} act={() => client.solves.forget(key)}>
          {text.solve.forget}
        </ActionButton>
      </div>
      {verdict !== undefined && (
        <p role="status" className="break-words">
          <Badge tone={stateTone(verdict.label)}>{text.solve.verdicts[verdict.label]}</Badge>{' '}
          {nameText(verdict.reason)}
        </p>
      )}
      <Details crystal={crystal} />
    </>
  );
}

function Details({ crystal }: { readonly crystal: Crystal }) {
  const { key, problem, solution, language, at, check } = crystal;
  return (
    <details>
      <summary className="text-faint">
        {languageText(language)}, {timeText(at)}
      </summary>
      <History crystal={crystal} />
      <pre className="output mt-2">{plainText(solution)}</pre>
      <ActionForm
        submit={text.actions.save}
        act={({ nextProblem = '', nextSolution = '', nextTests = '' }) =>
          client.solves.change(key, {
            ...(nextProblem !== problem && { problem: nextProblem }),
            ...(nextSolution !== solution && { solution: nextSolution }),
            ...(nextTests !== (check.tests ?? '') && { tests: nextTests }),
          })
        }
      >
        <TextArea label={text.solve.crystalProblem} name="nextProblem" defaultValue={problem} required />
        <TextArea
          label={text.solve.crystalCode}
          name="nextSolution"
          defaultValue={solution}
          required
          rows={8}
        />
        <TextArea label={text.solve.crystalTests} name="nextTests" defaultValue={check.tests ?? ''} />
      </ActionForm>
    </details>
  );
}

/** Its origin, its record when it was used, and its last failure. */
function History({ crystal }: { readonly crystal: Crystal }) {
  const { solve, verification, retries, successes, failures, usedAt, lastFailure, errors } = crystal;
  return (
    <dl className="mt-2 grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
      <dt className="text-faint">{text.solve.from}</dt>
      <dd>
        <a href={`#${pathTo('knowledge', 'solves', solve)}`}>{text.solve.fromLink}</a>,{' '}
        {text.solve.verifiedBy} {nameText(verification)}, {retries} {text.solve.retries}
      </dd>
      <dt className="text-faint">{text.solve.uses}</dt>
      <dd>
        {successes} {text.solve.worked}, {failures} {text.solve.failed}
        {usedAt !== null && `, ${text.solve.lastUsed} ${timeText(usedAt)}`}
      </dd>
      {lastFailure !== null && (
        <>
          <dt className="text-faint">{text.solve.lastFailure}</dt>
          <dd className="break-words">{nameText(lastFailure)}</dd>
        </>
      )}
      {errors.length > 0 && (
        <>
          <dt className="text-faint">{text.solve.errors}</dt>
          <dd className="break-words">{errors.map(nameText).join('; ')}</dd>
        </>
      )}
    </dl>
  );
}
