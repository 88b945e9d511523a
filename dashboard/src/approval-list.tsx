import type { Approval, ApprovalDecision } from '../../src/seams/approval.ts';
import { client } from './api.ts';
import { pathTo } from './route.ts';
import { agoText, nameText, plainText } from './shown.ts';
import { text } from './text.ts';
import { Badge } from './ui/badge.tsx';
import { ActionButton } from './ui/button.tsx';
import { TextField } from './ui/field.tsx';
import { ActionForm } from './ui/form.tsx';

/** Each with exactly what will happen, and the decisions that make sense for it. */
export function ApprovalList({ approvals }: { readonly approvals: readonly Approval[] }) {
  return (
    <ul className="flex flex-col gap-3">
      {approvals.map((approval) => (
        <li key={approval.id} className="card min-w-0">
          <div className="flex flex-wrap items-center gap-2">
            <Badge>{approval.kind}</Badge>
            <strong className="min-w-0 break-words">{nameText(approval.title)}</strong>
            {approval.chat !== null && (
              <a href={`#${pathTo('sandboxes', approval.chat)}`}>{nameText(approval.chat)}</a>
            )}
            <span className="text-faint">{agoText(approval.askedAt)}</span>
          </div>
          {approval.detail !== '' && <pre className="output mt-2">{plainText(approval.detail)}</pre>}
          {approval.state === 'open' ? <Decide approval={approval} /> : <Decided approval={approval} />}
        </li>
      ))}
    </ul>
  );
}

function Decide({ approval: { id, kind, choices, answers } }: { readonly approval: Approval }) {
  const decide = (decision: ApprovalDecision, answer?: string) =>
    client.approvals.decide(id, { decision, ...(answer !== undefined && { answer }) });
  const offered = kind === 'question' ? choices.filter((choice) => choice === 'deny') : choices;
  return (
    <div className="mt-2 flex flex-col gap-2">
      {kind === 'question' && (
        <>
          <div className="flex flex-wrap gap-2">
            {answers.map((answer) => (
              <ActionButton key={answer} act={() => decide('allow-once', answer)}>
                {nameText(answer)}
              </ActionButton>
            ))}
          </div>
          <ActionForm submit={text.approvals.answer} act={({ answer = '' }) => decide('allow-once', answer)}>
            <TextField label={text.approvals.ownAnswer} name="answer" required />
          </ActionForm>
        </>
      )}
      <div className="flex flex-wrap gap-2">
        {offered.map((choice) => (
          <ActionButton key={choice} kind={choice === 'deny' ? 'button-bad' : ''} act={() => decide(choice)}>
            {text.approvals.choices[choice]}
          </ActionButton>
        ))}
      </div>
    </div>
  );
}

function Decided({ approval: { state, decision, decidedBy, answer } }: { readonly approval: Approval }) {
  return (
    <p className="mt-2 break-words text-faint">
      {state}: {decision && text.approvals.choices[decision]} {nameText(decidedBy ?? '')}{' '}
      {nameText(answer ?? '')}
    </p>
  );
}
