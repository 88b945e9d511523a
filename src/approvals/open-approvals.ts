import { randomBytes } from 'node:crypto';
import { type Cancel, cancelled, onAbort, throwIfCancelled } from '../base/cancel.ts';
import { GeodeError, reasonOf } from '../base/errors.ts';
import { checkUser } from '../base/identity.ts';
import { type Log, noLog } from '../base/log.ts';
import type { Ledger } from '../ledger/ledger.ts';
import {
  type Approval,
  type ApprovalRequest,
  type ApprovalState,
  type Approvals,
  approvalDecisions,
  type DecideApproval,
} from '../seams/approval.ts';
import type { EventSink } from '../seams/events.ts';
import { ApprovalTable, type NewApproval } from './approval-table.ts';

/** Maximum open approvals of one sandbox. A person could not read more. */
const mostOpen = 32;
const mostTitle = 300;
const mostDetail = 256 * 1024;
const mostAnswers = 20;
const defaultWaitMs = 600_000;
const longestTimerMs = 2 ** 31 - 1;

export interface ApprovalsOptions {
  readonly ledger: Ledger;
  readonly events: EventSink;
  readonly log?: Log;
}

export interface OpenedApprovals extends Approvals, Disposable {}

interface Waiter {
  readonly resolve: (approval: Approval) => void;
  readonly fail: (error: GeodeError) => void;
}

/** One host at a time holds the ledger, so this process knows every open approval. */
export function openApprovals({ ledger, events, log = noLog }: ApprovalsOptions): OpenedApprovals {
  const table = new ApprovalTable(ledger);
  const waiting = new Map<string, Set<Waiter>>();
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const finish = (
    id: string,
    state: Exclude<ApprovalState, 'open'>,
    answer: Partial<DecideApproval> = {},
  ) => {
    const ended = table.end(id, state, answer, Date.now());
    if (ended === undefined) return undefined;
    const waiters = waiting.get(id);
    waiting.delete(id);
    if (waiters !== undefined && waiters.size > 0) table.markHeard(id);
    const { user, sandbox, chat, kind, decision } = ended;
    events.emit(user, {
      type: 'approval-decided',
      approval: id,
      sandbox,
      chat,
      kind,
      state,
      decision: decision ?? 'deny',
    });
    for (const waiter of waiters ?? []) waiter.resolve(ended);
    return ended;
  };
  const expire = () => {
    if (isClosed) return;
    clearTimeout(timer);
    try {
      for (const { id } of table.overdue(Date.now())) finish(id, 'expired');
      const next = table.nextExpiry();
      if (next === undefined) return;
      const inMs = Math.min(Math.max(next - Date.now() + 1, 1), longestTimerMs);
      timer = setTimeout(expire, inMs).unref();
    } catch (err) {
      log.warn({ err }, `Approvals could not be expired: ${reasonOf(err)}`);
      timer = setTimeout(expire, retryMs).unref();
    }
  };
  const wait = (approval: Approval, { whenLeft = 'withdraw' }: ApprovalRequest, { signal }: Cancel) => {
    const { promise, resolve, reject } = Promise.withResolvers<Approval>();
    const waiters = waiting.get(approval.id) ?? new Set<Waiter>();
    waiting.set(approval.id, waiters);
    const waiter: Waiter = { resolve, fail: reject };
    waiters.add(waiter);
    const leave = () => {
      waiters.delete(waiter);
      reject(cancelled('Asking for an approval', signal?.reason));
      if (waiters.size > 0 || whenLeft === 'keep' || isClosed) return;
      try {
        finish(approval.id, 'withdrawn');
      } catch (err) {
        log.warn({ err }, `An approval could not be withdrawn: ${reasonOf(err)}`);
      }
    };
    const watching = onAbort(signal, leave);
    return promise.finally(() => watching[Symbol.dispose]());
  };

  expire();
  return {
    async ask(request, { signal } = {}) {
      throwIfCancelled(signal, 'Asking for an approval');
      const asked = checked(request);
      if (isClosed) throw stopping();
      const now = Date.now();
      const same = table.same(asked, now);
      if (same !== undefined && same.state !== 'open') {
        table.markHeard(same.id);
        return same;
      }
      if (same !== undefined) return await wait(same, asked, { signal });
      if (table.openCount(asked.user, asked.sandbox) >= mostOpen) throw tooMany();
      const made = table.add(randomBytes(8).toString('hex'), asked, now);
      const { id, user, sandbox, chat, kind } = made;
      const decision = wait(made, asked, { signal });
      events.emit(user, { type: 'approval-asked', approval: id, sandbox, chat, kind });
      expire();
      return await decision;
    },
    list: (user, options = {}) => table.list(user, options),
    get: (user, id) => table.get(user, id) ?? missing(id),
    decide(user, id, answer) {
      expire();
      const { choices } = table.get(user, id) ?? missing(id);
      if (!choices.includes(answer.decision)) {
        throw new GeodeError(
          'invalid_input',
          `${answer.decision} is not a possible decision here: use ${choices.join(', ')}.`,
        );
      }
      return finish(id, 'decided', answer) ?? refuseSecond(table.get(user, id) ?? missing(id));
    },
    withdraw(sandbox) {
      try {
        for (const { id } of table.openOf(sandbox)) finish(id, 'withdrawn');
      } catch (err) {
        log.warn({ err }, `Approvals could not be withdrawn: ${reasonOf(err)}`);
      }
    },
    [Symbol.dispose]() {
      isClosed = true;
      clearTimeout(timer);
      const waiters = [...waiting.values()].flatMap((each) => [...each]);
      waiting.clear();
      for (const waiter of waiters) waiter.fail(stopping());
    },
  };
}

const retryMs = 10_000;

function checked(request: ApprovalRequest): NewApproval {
  const { user, title, detail = '', answers = [], waitMs = defaultWaitMs } = request;
  checkUser(user);
  const given = request.choices ?? approvalDecisions;
  const choices = approvalDecisions.filter((each) => each === 'deny' || given.includes(each));
  if (title.trim() === '' || title.length > mostTitle)
    throw new GeodeError('invalid_input', `The title of an approval must have 1 to ${mostTitle} characters.`);
  if (
    detail.length > mostDetail ||
    answers.length > mostAnswers ||
    answers.some((each) => each.length > mostTitle)
  )
    throw new GeodeError('too_large', 'The detail of an approval is too long for a person to read.');
  if (!Number.isFinite(waitMs) || waitMs <= 0)
    throw new GeodeError('invalid_input', 'An approval needs a time limit for the decision.');
  return { ...request, detail, choices, answers, waitMs: Math.ceil(waitMs) };
}

function missing(id: string): never {
  throw new GeodeError('approval_not_found', `There is no approval ${id}.`);
}

function refuseSecond({ id, state, decision, decidedBy }: Approval): never {
  const how =
    state === 'expired'
      ? 'its time ran out'
      : state === 'withdrawn'
        ? 'the request was withdrawn'
        : `${decidedBy ?? 'somebody'} chose ${decision ?? 'deny'}`;
  throw new GeodeError('approval_decided', `The approval ${id} is already decided: ${how}.`);
}

function tooMany(): GeodeError {
  return new GeodeError('too_many_approvals', `This sandbox already has ${mostOpen} open approvals.`);
}

function stopping(): GeodeError {
  return new GeodeError(
    'stopping',
    'The host stopped while waiting for an approval; the approval stays open.',
  );
}
