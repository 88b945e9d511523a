import type { Cancel } from '../base/cancel.ts';
import type { PermissionAnswer, PermissionClass } from '../seams/agent.ts';
import type { ApprovalDecision, Approvals } from '../seams/approval.ts';
import type { ConversationTable } from './conversation-table.ts';
import { type PermissionRequest, stopReason } from './driver.ts';
import { isAllowedAhead, leadsThroughLink } from './permission-policy.ts';
import type { TurnToRun } from './run-turn.ts';
import type { TurnEvents } from './turn-events.ts';
import type { TurnTable } from './turn-table.ts';

interface AskParts {
  readonly conversations: ConversationTable;
  readonly turns: TurnTable;
  readonly approvals: Approvals;
  /** Actions that need no question. */
  readonly allow: readonly PermissionClass[];
}

const choices = ['allow-once', 'allow-session', 'deny'] as const;

/**
 * Asks the user through an approval whether an agent may do something. Joins the approval of an earlier host without
 * a second notice. Actions allowed for the session are not asked.
 */
export async function askPerson(
  { conversations, turns, approvals, allow }: AskParts,
  { conversation, row, sandbox, signal }: Omit<TurnToRun, 'driver'>,
  { id, tool, input, act }: PermissionRequest,
  events: TurnEvents,
  { signal: ending }: Cancel,
): Promise<PermissionAnswer> {
  const isAhead = isAllowedAhead(act, allow, sandbox);
  if (isAhead && !(act.type === 'edit' && (await leadsThroughLink(act.paths, sandbox)))) return 'once';
  if (conversations.allowed(conversation.id).includes(tool)) return 'session';
  if (row.unattended) return act.type === 'dangerous' ? 'deny' : 'once';
  const { user, chat } = conversation;
  const detail = typeof input === 'string' ? input : JSON.stringify(input, null, 2);
  const deciding = approvals.ask(
    {
      ...{ user, chat, sandbox: sandbox.id, kind: 'tool', choices, detail },
      title: `An agent wants to use ${tool}`.slice(0, 200),
      key: `agent ${row.id} ${id}`,
      whenLeft: 'keep',
    },
    { signal: AbortSignal.any([signal, ...(ending === undefined ? [] : [ending])]) },
  );
  deciding.catch(() => {}); // Awaited below.
  const open = approvals
    .list(user, { chat })
    .findLast((each) => each.kind === 'tool' && each.detail === detail);
  const past = turns.ofTurn(row);
  if (
    open !== undefined &&
    !past.some((event) => event.type === 'permission-request' && event.id === open.id)
  )
    events.push([{ type: 'permission-request', id: open.id, tool, input }]);
  const decided = await deciding.catch((error) => {
    // Keep the approval open for the next host; otherwise nobody would act on the decision.
    if (open !== undefined && stopReason(signal) !== 'host-ends')
      approvals.decide(user, open.id, { decision: 'deny', by: 'the end of the turn' });
    throw error;
  });
  const answer = answerOf(decided.decision ?? 'deny');
  if (answer === 'session') conversations.allow(conversation.id, tool);
  events.push([{ type: 'permission-answer', id: decided.id, answer }]);
  return answer;
}

const answers: Readonly<Record<ApprovalDecision, PermissionAnswer>> = {
  'allow-once': 'once',
  'allow-session': 'session',
  'allow-always': 'session',
  deny: 'deny',
};

function answerOf(decision: ApprovalDecision): PermissionAnswer {
  return answers[decision];
}

/** The reverse mapping, for a caller that answers through the agent. */
export function decisionOf(answer: PermissionAnswer): ApprovalDecision {
  return answer === 'deny' ? 'deny' : `allow-${answer}`;
}
