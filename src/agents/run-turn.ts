import { GeodeError, isGeodeError, reasonOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { noUsage } from '../base/prices.ts';
import { currentSpan } from '../base/spans.ts';
import type { AgentEventBody, AgentResult, PermissionClass } from '../seams/agent.ts';
import type { Approvals } from '../seams/approval.ts';
import type { PersistentSandbox } from '../seams/persistent.ts';
import { askPerson } from './ask-person.ts';
import type { ConversationRow, ConversationTable } from './conversation-table.ts';
import { type AgentDriver, type DriverTurn, stopReason } from './driver.ts';
import { openCalls, unfinished } from './open-calls.ts';
import type { TurnRecorder } from './replay/tape-of-turn.ts';
import { recordingFormat } from './transcript.ts';
import { cleaned, TurnEvents } from './turn-events.ts';
import { ToolSpans } from './turn-spans.ts';
import type { TurnRow, TurnTable } from './turn-table.ts';
import { usageOf } from './usage-of.ts';

export interface TurnParts {
  readonly conversations: ConversationTable;
  readonly turns: TurnTable;
  readonly approvals: Approvals;
  readonly allow: readonly PermissionClass[];
  readonly log: Log;
  readonly secrets: readonly string[];
  readonly keepEvents: number;
  /** Records the calls of the turn through bindings. */
  readonly recorder: Pick<TurnRecorder, 'count' | 'isPartial' | 'missed'>;
  /** Wakes the readers of the conversation. */
  readonly notifyReaders: () => void;
}

export interface TurnToRun {
  readonly driver: AgentDriver;
  readonly conversation: ConversationRow;
  readonly row: TurnRow;
  readonly sandbox: PersistentSandbox;
  readonly signal: AbortSignal;
}

const mostChanges = 500;
/** Folders in the workspace where agents store their sessions. */
const ownFolder = '.geode';

export function isOwnPath(path: string): boolean {
  return path === ownFolder || path.startsWith(`${ownFolder}/`);
}

/**
 * Runs one turn from its first event, or from where an earlier host stopped, to its last. Never throws. Undefined:
 * the host ends first, and the turn stays open for the next one.
 */
export async function runTurn(parts: TurnParts, turn: TurnToRun): Promise<AgentEventBody | undefined> {
  const { turns, log, keepEvents, notifyReaders } = parts;
  const { row, conversation, sandbox, signal } = turn;
  const begun = parts.conversations.state(conversation.id);
  const events = new TurnEvents((eventBodies, state) => {
    turns.keep(row, eventBodies, state);
    notifyReaders();
  }, parts.secrets);
  try {
    const last = await lastOf(parts, turn, events);
    if (last === undefined) return undefined;
    const { eventBodies: rest, state } = events.rest();
    const known = [...turns.ofTurn(row), ...rest];
    const open = openCalls(known).map((call) => unfinished(call, 'The turn ended during this call.'));
    const after = await markEnd(sandbox, row, log);
    const changes = await changesOf(sandbox, row, after, log);
    const facts = { ...last, ...(last.type === 'result' && sumOf(known, row)) };
    const { snapshot: before, attachments } = row;
    const { count: calls, isPartial, missed } = parts.recorder;
    turns.endTurn(row, [...rest, ...open, ...changes, cleaned(facts, parts.secrets)], keepEvents, state, {
      ...{ format: recordingFormat, before, after, attachments, model: conversation.model },
      // An earlier host may have been killed before it stored the last call.
      ...{ state: begun, calls, missed, isPartial: isPartial || (calls > 0 && row.starts > 1) },
    });
    notifyReaders();
    return facts;
  } catch (error) {
    // The ledger cannot be written: the next host finds the turn open.
    log.error({ err: error, chat: conversation.chat }, 'a turn of an agent could not be kept');
    return stopReason(signal) === 'host-ends' ? undefined : failure(error);
  }
}

async function lastOf(
  parts: TurnParts,
  { driver, conversation, row, sandbox, signal }: TurnToRun,
  events: TurnEvents,
): Promise<AgentEventBody | undefined> {
  const turnSpan = currentSpan();
  // The loop on this host makes the spans of its tools itself.
  using tools = turnSpan && driver.name !== 'builtin' ? new ToolSpans(turnSpan) : undefined;
  const given: DriverTurn = {
    user: conversation.user,
    chat: conversation.chat,
    conversation: conversation.id,
    turn: row.id,
    sandbox,
    message: row.message,
    attachments: row.attachments,
    model: conversation.model,
    audience: conversation.audience,
    isResumed: row.starts > 1,
    openCalls: row.starts > 1 ? openCalls(parts.turns.ofTurn(row)) : [],
    state: parts.conversations.state(conversation.id),
    keep(eventBodies, state) {
      tools?.note(eventBodies);
      events.push(eventBodies, state);
    },
    keepLast(eventBodies, state) {
      tools?.note(eventBodies);
      events.pushLast(eventBodies, state);
    },
    ask: (request, cancel = {}) =>
      askPerson(parts, { conversation, row, sandbox, signal }, request, events, cancel),
    signal,
  };
  try {
    const { outcome, text } = await driver.turn(given);
    return resultOf(outcome, text);
  } catch (error) {
    const stop = stopReason(signal);
    if (stop === 'host-ends') return undefined;
    if (stop === 'interrupt') return resultOf('interrupted', '');
    if (stop === 'timeout') return resultOf('limit', '');
    return failure(error);
  }
}

function resultOf(outcome: AgentResult['outcome'], text: string): AgentEventBody {
  return { type: 'result', outcome, text, usage: noUsage, cost: null, durationMs: 0 };
}

function sumOf(events: readonly AgentEventBody[], row: TurnRow): Omit<AgentResult, 'outcome' | 'text'> {
  return { ...usageOf(events), durationMs: Date.now() - row.startedAt };
}

function failure(thrown: unknown): AgentEventBody {
  const error = isGeodeError(thrown)
    ? thrown
    : new GeodeError('internal', reasonOf(thrown), { cause: thrown });
  const { code, message, hint } = error;
  return { type: 'error', code, message, hint };
}

/** The workspace after the turn, for a replay; null where there are no points. */
async function markEnd(
  { snapshots, chat }: PersistentSandbox,
  { snapshot }: TurnRow,
  log: Log,
): Promise<string | null> {
  if (snapshots === undefined || snapshot === null) return null;
  try {
    return (await snapshots.markTurnEnd()).name;
  } catch (error) {
    log.warn({ err: error, chat }, 'the workspace after a turn could not be saved for a replay');
    return null;
  }
}

/** Changes since the undo point before the turn. Without undo points, file events are left out. */
async function changesOf(
  { snapshots, chat }: PersistentSandbox,
  { snapshot }: TurnRow,
  after: string | null,
  log: Log,
): Promise<readonly AgentEventBody[]> {
  if (snapshots === undefined || snapshot === null) return [];
  const changes: AgentEventBody[] = [];
  try {
    const to = after === null ? undefined : `turn:${after}`;
    for await (const { path, change } of snapshots.diff(`undo:${snapshot}`, { to })) {
      if (isOwnPath(path)) continue;
      changes.push({ type: 'file-change', path, change });
      if (changes.length === mostChanges) break;
    }
  } catch (error) {
    log.warn({ err: error, chat }, 'the file changes of a turn cannot be seen');
  }
  return changes;
}
