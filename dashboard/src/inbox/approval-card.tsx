import { useMutation, useQueryClient } from '@tanstack/react-query';
import {
  ChevronRight,
  ClockAlert,
  Hourglass,
  LoaderCircle,
  MessageCircleQuestionMark,
  ShieldCheck,
  ShieldQuestionMark,
  ShieldX,
  Undo2,
} from 'lucide-react';
import { type KeyboardEvent, useEffect, useId, useState } from 'react';
import { isGeodeError } from '../../../src/client/client.ts';
import type { Approval, ApprovalDecision } from '../../../src/seams/approval.ts';
import { client } from '../api.ts';
import { pathTo } from '../route.ts';
import { leftText, nameText, plainText } from '../shown.ts';
import { text } from '../text.ts';
import { Problem } from '../ui/problem.tsx';
import { decidedTime, outcomeOf, subjectLine, wordsOf } from './approval-words.ts';

interface Shown {
  readonly approval: Approval;
  /** Where the chat is known already. */
  readonly isInChat?: boolean;
}

/** A question that waits, or one line about what became of it. */
export function ApprovalCard({ approval, isInChat = false }: Shown) {
  return approval.state === 'open' ? (
    <OpenCard approval={approval} isInChat={isInChat} />
  ) : (
    <DecidedLine approval={approval} />
  );
}

interface Decided {
  readonly decision: ApprovalDecision;
  readonly answer?: string;
  readonly forMs?: number;
}

const hourMs = 3_600_000;
const kindIcons = {
  egress: Hourglass,
  tool: ShieldQuestionMark,
  question: MessageCircleQuestionMark,
} as const;

function OpenCard({ approval, isInChat }: Required<Shown>) {
  const { id, kind, chat, choices } = approval;
  const [isSayingWhy, setSayingWhy] = useState(false);
  const { title, subject, more } = wordsOf(approval);
  const heading = useId();
  const queries = useQueryClient();
  const decide = useMutation({
    mutationFn: async ({ decision, answer, forMs }: Decided) => {
      // The agent waits for the decision, so it reads the reason first of all when it goes on.
      if (kind === 'tool' && chat !== null && answer !== undefined)
        await client.chats.post(chat, { text: answer, during: 'steer' });
      return client.approvals.decide(id, {
        decision,
        ...(answer !== undefined && { answer }),
        ...(forMs !== undefined && { forMs }),
      });
    },
    onSettled: () => queries.invalidateQueries(),
  });
  const Icon = kindIcons[kind];
  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLInputElement) return;
    const decision = keyed[event.key.toLowerCase()];
    if (decision === undefined || !choices.includes(decision) || kind === 'question') return;
    event.preventDefault();
    if (!decide.isPending) decide.mutate({ decision });
  };
  // Another person, or the end of its time, was faster.
  const isLate = isGeodeError(decide.error, 'approval_decided');
  return (
    <section
      data-approval={id}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a focused card takes the keys A, S and D.
      tabIndex={0}
      aria-labelledby={heading}
      className="overflow-hidden rounded-card border border-warn-fill/60 bg-surface"
      onKeyDown={press}
    >
      <div className="flex min-h-9 items-center gap-2 bg-warn-soft px-3 py-1.5">
        <Icon aria-hidden size={16} strokeWidth={1.75} className="shrink-0 text-warn" />
        <h3 id={heading} className="min-w-0 flex-1 font-semibold break-words">
          {title}
        </h3>
        <TimeLeft until={approval.expiresAt} />
      </div>
      <div className="flex flex-col gap-3 p-3">
        <pre className="output max-h-48">{plainText(subject)}</pre>
        {more !== undefined && (
          <details>
            <summary className="text-muted">{text.approvals.all}</summary>
            <pre className="output mt-2">{plainText(more)}</pre>
          </details>
        )}
        {!isInChat && chat !== null && (
          <p className="text-muted">
            {text.approvals.where} <a href={`#${pathTo('sandboxes', chat)}`}>{nameText(chat)}</a>
          </p>
        )}
        {isSayingWhy ? (
          <WhyNot decide={decide.mutate} isBusy={decide.isPending} onCancel={() => setSayingWhy(false)} />
        ) : (
          <Choices
            approval={approval}
            decide={decide.mutate}
            deciding={decide.variables}
            isBusy={decide.isPending}
            onSayWhy={kind === 'tool' && chat !== null ? () => setSayingWhy(true) : undefined}
          />
        )}
        {decide.error &&
          (isLate ? <p role="alert">{text.approvals.late}</p> : <Problem error={decide.error} />)}
      </div>
    </section>
  );
}

const keyed: Readonly<Record<string, ApprovalDecision>> = { a: 'allow-once', s: 'allow-session', d: 'deny' };

function TimeLeft({ until }: { readonly until: number }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const isLast = until - now < 60_000;
  return (
    <span className={`figures text-sm ${isLast ? 'font-semibold text-warn' : 'text-muted'}`}>
      {leftText(until, now)}
    </span>
  );
}

interface ChoicesShown {
  readonly approval: Approval;
  readonly decide: (decided: Decided) => void;
  readonly deciding: Decided | undefined;
  readonly isBusy: boolean;
  /** Undefined where nobody would read the reason. */
  readonly onSayWhy: (() => void) | undefined;
}

function Choices({ approval: { kind, choices, answers }, decide, deciding, isBusy, onSayWhy }: ChoicesShown) {
  if (kind === 'question') return <Answers answers={answers} decide={decide} isBusy={isBusy} />;
  const { egress, tool } = text.approvals.choices;
  const names: Readonly<Record<ApprovalDecision, string>> = kind === 'egress' ? egress : tool;
  const button = (decided: Decided, name: string, looks: string, key?: string) => {
    const isThis = isBusy && deciding?.decision === decided.decision && deciding.forMs === decided.forMs;
    return (
      <button
        key={name}
        type="button"
        disabled={isBusy}
        className={`button max-md:min-h-12 max-md:flex-1 max-md:basis-[45%] ${looks}`}
        onClick={() => decide(decided)}
      >
        {isThis && <LoaderCircle aria-hidden size={14} className="spin" />}
        {name}
        {key !== undefined && (
          <kbd aria-hidden className="key max-md:hidden">
            {key}
          </kbd>
        )}
      </button>
    );
  };
  const has = (decision: ApprovalDecision) => choices.includes(decision);
  return (
    <div className="flex flex-wrap gap-2">
      {has('allow-once') && button({ decision: 'allow-once' }, names['allow-once'], 'button-main', 'A')}
      {has('allow-session') && button({ decision: 'allow-session' }, names['allow-session'], '', 'S')}
      {kind === 'egress' &&
        has('allow-always') &&
        button({ decision: 'allow-always', forMs: hourMs }, text.approvals.anHour, '')}
      {has('allow-always') && button({ decision: 'allow-always' }, names['allow-always'], '')}
      {button({ decision: 'deny' }, names.deny, 'button-bad', 'D')}
      {onSayWhy !== undefined && (
        <button
          type="button"
          disabled={isBusy}
          className="button button-quiet max-md:min-h-12 md:ml-auto"
          onClick={onSayWhy}
        >
          {text.talk.denyWhy}
        </button>
      )}
    </div>
  );
}

/** A denial with its reason, for the agent that asked. */
function WhyNot({
  decide,
  isBusy,
  onCancel,
}: {
  readonly decide: (decided: Decided) => void;
  readonly isBusy: boolean;
  readonly onCancel: () => void;
}) {
  const [why, setWhy] = useState('');
  return (
    <form
      className="flex flex-wrap gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (why.trim() !== '') decide({ decision: 'deny', answer: why.trim() });
      }}
    >
      <input
        // biome-ignore lint/a11y/noAutofocus: the person has just pressed the button for it.
        autoFocus
        className="input min-w-40 flex-1 max-md:min-h-12"
        aria-label={text.talk.why}
        placeholder={text.talk.whyHint}
        maxLength={4000}
        value={why}
        disabled={isBusy}
        onChange={({ target }) => setWhy(target.value)}
        onKeyDown={(event) => event.key === 'Escape' && onCancel()}
      />
      <button
        type="submit"
        className="button button-bad max-md:min-h-12"
        disabled={isBusy || why.trim() === ''}
      >
        {text.approvals.choices.tool.deny}
      </button>
      <button type="button" className="button button-quiet max-md:min-h-12" onClick={onCancel}>
        {text.actions.cancel}
      </button>
    </form>
  );
}

function Answers({
  answers,
  decide,
  isBusy,
}: {
  readonly answers: readonly string[];
  readonly decide: (decided: Decided) => void;
  readonly isBusy: boolean;
}) {
  const [own, setOwn] = useState('');
  return (
    <form
      className="flex flex-wrap gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (own.trim() !== '') decide({ decision: 'allow-once', answer: own });
      }}
    >
      {answers.map((answer) => (
        <button
          key={answer}
          type="button"
          className="button max-md:min-h-12"
          disabled={isBusy}
          onClick={() => decide({ decision: 'allow-once', answer })}
        >
          {nameText(answer)}
        </button>
      ))}
      <input
        className="input min-w-40 flex-1"
        aria-label={text.approvals.ownAnswer}
        placeholder={text.approvals.ownAnswer}
        value={own}
        onChange={({ target }) => setOwn(target.value)}
      />
      <button type="submit" className="button button-main" disabled={isBusy || own.trim() === ''}>
        {text.approvals.answer}
      </button>
      <button
        type="button"
        className="button button-bad"
        disabled={isBusy}
        onClick={() => decide({ decision: 'deny' })}
      >
        {text.approvals.choices.tool.deny}
      </button>
    </form>
  );
}

function DecidedLine({ approval }: { readonly approval: Approval }) {
  const { state, decision, detail, title, answer, chat } = approval;
  const isAllowed = state === 'decided' && decision !== 'deny';
  const Icon = isAllowed
    ? ShieldCheck
    : state === 'expired'
      ? ClockAlert
      : state === 'withdrawn'
        ? Undo2
        : ShieldX;
  const colour = isAllowed ? 'text-good' : state === 'decided' ? 'text-bad' : 'text-muted';
  return (
    <details className="group rounded-card border border-line bg-surface">
      <summary className="flex min-h-9 list-none items-center gap-2 px-3 py-1.5">
        <Icon aria-hidden size={16} strokeWidth={1.75} className={`shrink-0 ${colour}`} />
        <span className="flex min-w-0 flex-1 flex-wrap items-baseline gap-x-2">
          <span className="font-medium">{outcomeOf(approval)}</span>
          <code className="min-w-0 truncate text-muted">{subjectLine(approval)}</code>
        </span>
        <span className="figures text-sm text-faint">{decidedTime(approval)}</span>
        <ChevronRight aria-hidden size={14} className="shrink-0 text-faint group-open:rotate-90" />
      </summary>
      <div className="border-t border-line p-3">
        <pre className="output">{plainText(detail === '' ? title : detail)}</pre>
        {answer !== null && <p className="mt-2 break-words">{nameText(answer)}</p>}
        {chat !== null && (
          <p className="mt-2 text-muted">
            {text.approvals.where} <a href={`#${pathTo('sandboxes', chat)}`}>{nameText(chat)}</a>
          </p>
        )}
      </div>
    </details>
  );
}
