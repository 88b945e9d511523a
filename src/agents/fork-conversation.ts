import { randomUUID } from 'node:crypto';
import { type Cancel, throwIfCancelled } from '../base/cancel.ts';
import { GeodeError, isGeodeError } from '../base/errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Sql } from '../ledger/sql.ts';
import type { UserSandboxes } from '../seams/persistent.ts';
import type { ConversationRow, ConversationTable } from './conversation-table.ts';
import type { AgentDriver } from './driver.ts';

interface ForkParts {
  readonly ledger: Ledger;
  readonly conversations: ConversationTable;
  readonly driver: AgentDriver;
  readonly sandboxes: UserSandboxes;
}

interface Fork extends Cancel {
  readonly source: ConversationRow;
  /** The new chat. */
  readonly to: string;
  /** The first turn that is left out; undefined: everything is copied. */
  readonly before: string | undefined;
}

/** The part of a conversation that is copied: its ended turns, the oldest first. */
interface Cut {
  readonly turns: readonly string[];
  readonly snapshot: string | undefined;
  /** The state of the driver at that time. */
  readonly state: unknown;
}

/**
 * Copies the sandbox first and the conversation after it: a chat whose history has no files is never seen. If the
 * conversation cannot be copied, the new sandbox is removed.
 */
export async function forkConversation(parts: ForkParts, fork: Fork): Promise<ConversationRow> {
  const { ledger, conversations, driver, sandboxes } = parts;
  const { source, to, signal } = fork;
  refuseTaken(conversations, source.user, to);
  const cut = cutOf(parts, fork);
  try {
    await sandboxes.fork(source.chat, to, { snapshot: cut.snapshot, signal });
  } catch (error) {
    throw cut.snapshot !== undefined && isGeodeError(error, 'snapshot_not_found')
      ? notSaved('files', error)
      : error;
  }
  try {
    throwIfCancelled(signal, 'The fork');
    const state = cut.turns.length === 0 ? undefined : driver.forked?.(cut.state);
    ledger.write((sql) => copyConversation(sql, source, to, cut.turns, state));
  } catch (error) {
    await sandboxes.remove(to);
    throw error;
  }
  return conversations.get(source.user, to);
}

function cutOf({ ledger, conversations, driver }: ForkParts, { source: { id, chat }, before }: Fork): Cut {
  const all = ledger.read(
    (sql) => sql.all`SELECT t.id, t.snapshot, t.ended_at, r.recording FROM agent_turns t
      LEFT JOIN agent_transcript r ON r.turn = t.id
      WHERE t.conversation = ${id} ORDER BY t.first_seq, t.started_at`,
  );
  const at = before === undefined ? all.length : all.findIndex((row) => row.id === before);
  if (at === -1)
    throw new GeodeError(
      'turn_not_found',
      `The conversation of the chat ${JSON.stringify(chat)} has no turn ${JSON.stringify(before?.slice(0, 80))}.`,
    );
  const turns = all.slice(0, at).flatMap((row) => (row.ended_at === null ? [] : [String(row.id)]));
  const first = all[at];
  if (first === undefined) return { turns, snapshot: undefined, state: conversations.state(id) };
  if (first.snapshot === null) throw notSaved('files');
  const snapshot = `turn:${first.snapshot}`;
  if (first.recording !== null) return { turns, snapshot, state: JSON.parse(String(first.recording)).state };
  // An open turn has no record yet. After a turn that ended without one, the state is that of a later time.
  if (first.ended_at !== null && turns.length > 0 && driver.forked !== undefined) throw notSaved('state');
  return { turns, snapshot, state: conversations.state(id) };
}

/** The copies of turns cost nothing, and have no undo points: those stay with the files they belong to. */
function copyConversation(
  sql: Sql,
  { id: from, user, driver, model, audience }: ConversationRow,
  to: string,
  turns: readonly string[],
  state: unknown,
): void {
  const now = Date.now();
  const kept = state === undefined ? null : JSON.stringify(state);
  const { lastInsertRowid } =
    sql.run`INSERT INTO agent_conversations (user, chat, driver, model, state, audience, created_at, active_at)
      VALUES (${user}, ${to}, ${driver}, ${model}, ${kept}, ${audience}, ${now}, ${now})`;
  const id = Number(lastInsertRowid);
  for (const turn of turns) {
    const own = randomUUID();
    const last = sql.get`SELECT seq FROM sqlite_sequence WHERE name = 'agent_events'`;
    sql.run`INSERT INTO agent_events (conversation, turn, at, body)
      SELECT ${id}, ${own}, at, body FROM agent_events WHERE conversation = ${from} AND turn = ${turn} ORDER BY seq`;
    sql.run`INSERT INTO agent_turns SELECT ${own}, ${id}, NULL, request, NULL, starts, ${Number(last?.seq ?? 0) + 1},
      0, started_at, ended_at FROM agent_turns WHERE id = ${turn}`;
    sql.run`INSERT INTO agent_messages SELECT ${id}, number, ${own}, message FROM agent_messages
      WHERE conversation = ${from} AND turn = ${turn}`;
    sql.run`INSERT INTO agent_transcript (user, chat, conversation, turn, driver, started_at, ended_at, events)
      SELECT user, ${to}, ${id}, ${own}, driver, started_at, ended_at, events FROM agent_transcript WHERE turn = ${turn}`;
  }
  // A summary of more than is copied would mention what the copy must not know.
  sql.run`INSERT INTO agent_summaries SELECT ${id}, upto, text, at FROM agent_summaries WHERE conversation = ${from}
    AND upto <= (SELECT max(number) FROM agent_messages WHERE conversation = ${id})`;
}

export function refuseTaken(conversations: ConversationTable, user: string, to: string): void {
  if (conversations.find(user, to) === undefined) return;
  throw new GeodeError(
    'sandbox_exists',
    `The chat ${JSON.stringify(to.slice(0, 200))} already has a conversation.`,
    { hint: 'Choose another name, or end that conversation: `geode agent stop CHAT`.' },
  );
}

function notSaved(what: 'files' | 'state', cause?: unknown): GeodeError {
  const [message, reason] =
    what === 'files'
      ? [
          'The files before this turn are not saved any more.',
          'Geode keeps those of the latest turns of a chat.',
        ]
      : ['The state of the agent before this turn is not saved.', 'The turn was not run to its end.'];
  return new GeodeError('snapshot_not_found', message, {
    hint: `${reason} Fork before a later turn, or the whole conversation.`,
    cause,
  });
}
