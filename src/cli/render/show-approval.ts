/** An approval as people read it. */
import type { Approval } from '../../seams/approval.ts';
import { spanText } from './ages.ts';
import { visible } from './printable.ts';

/** The exact request, and the commands that answer it. */
export function shownApproval(approval: Approval, now = Date.now()): readonly string[] {
  const { id, kind, user, chat, title, detail, state, expiresAt, choices, answers } = approval;
  const of = chat === null ? '' : ` of ${user}/${chat}`;
  const head = `${id}  ${kind}${of}  ${title}`;
  const lines = detail === '' ? [] : detail.split('\n').map((line) => `    ${line}`);
  const picks = answers.map((answer, index) => `    ${index + 1}. ${answer}`);
  const end =
    state === 'open'
      ? `  ${spanText(Math.max(expiresAt - now, 0))} left: ${choices.join(', ')}`
      : `  ${decisionText(approval)}`;
  return [head, ...lines, ...picks, end].map(visible);
}

export function decisionText({ state, decision, decidedBy, until, answer }: Approval): string {
  if (state === 'open') return 'open';
  if (state === 'expired') return 'denied: nobody decided in time';
  if (state === 'withdrawn') return 'withdrawn: nobody waits for it now';
  const end = until === null ? '' : ` until ${new Date(until).toISOString()}`;
  const answerText = answer === null ? '' : `: ${answer}`;
  return `${decision}${end} by ${decidedBy ?? 'somebody'}${answerText}`;
}
