import { z } from 'zod';
import { GeodeError } from '../base/errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { AgentConversation, Audience, DriverName } from '../seams/agent.ts';

export interface ConversationRow extends AgentConversation {
  readonly id: number;
  readonly user: string;
  readonly audience: Audience;
}

/** Conversations in the ledger, one for each user and chat. */
export class ConversationTable {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  find(user: string, chat: string): ConversationRow | undefined {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT c.*,
          (SELECT max(seq) FROM agent_events e WHERE e.conversation = c.id) AS seq,
          (SELECT count(*) FROM agent_turns t WHERE t.conversation = c.id) AS turns,
          (SELECT count(*) FROM agent_turns t WHERE t.conversation = c.id AND t.ended_at IS NULL) AS open,
          (SELECT sum(cost) FROM agent_turns t WHERE t.conversation = c.id) AS cost
        FROM agent_conversations c WHERE c.user = ${user} AND c.chat = ${chat}`,
    );
    return row === undefined ? undefined : conversationOf(row);
  }

  /** Throws `agent_not_found`. */
  get(user: string, chat: string): ConversationRow {
    const found = this.find(user, chat);
    if (found !== undefined) return found;
    throw new GeodeError('agent_not_found', `The chat ${JSON.stringify(chat)} has no conversation.`);
  }

  has(conversation: number): boolean {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT id FROM agent_conversations WHERE id = ${conversation}`,
    );
    return row !== undefined;
  }

  list(user: string): readonly ConversationRow[] {
    return this.#ledger
      .read(
        (sql) => sql.all`SELECT chat FROM agent_conversations WHERE user = ${user} ORDER BY active_at DESC`,
      )
      .map(({ chat }) => this.get(user, String(chat)));
  }

  /** Conversations without an open turn for which a driver still stores state. */
  left(): readonly (Pick<ConversationRow, 'id' | 'user' | 'chat' | 'driver'> & {
    readonly state: unknown;
  })[] {
    return this.#ledger
      .read(
        (
          sql,
        ) => sql.all`SELECT id, user, chat, driver, state FROM agent_conversations c WHERE state IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM agent_turns t WHERE t.conversation = c.id AND t.ended_at IS NULL)`,
      )
      .map(({ id, user, chat, driver, state }) => ({
        ...{ id: Number(id), user: String(user), chat: String(chat) },
        driver: String(driver) as DriverName,
        state: JSON.parse(String(state)),
      }));
  }

  begin(user: string, chat: string, driver: DriverName, model: string | null): ConversationRow {
    const now = Date.now();
    this.#ledger.write(
      (sql) => sql.run`INSERT INTO agent_conversations (user, chat, driver, model, created_at, active_at)
        VALUES (${user}, ${chat}, ${driver}, ${model}, ${now}, ${now}) ON CONFLICT DO NOTHING`,
    );
    return this.get(user, chat);
  }

  /** An audience never becomes smaller. */
  openToGroup(conversation: number): void {
    this.#ledger.write(
      (sql) => sql.run`UPDATE agent_conversations SET audience = 'group' WHERE id = ${conversation}`,
    );
  }

  state(conversation: number): unknown {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT state FROM agent_conversations WHERE id = ${conversation}`,
    );
    return typeof row?.state === 'string' ? JSON.parse(row.state) : undefined;
  }

  keep(conversation: number, state: unknown): void {
    const [text, now] = [JSON.stringify(state), Date.now()];
    this.#ledger.write(
      (sql) =>
        sql.run`UPDATE agent_conversations SET state = ${text}, active_at = ${now} WHERE id = ${conversation}`,
    );
  }

  /** Tools that a person allowed for the entire conversation. */
  allowed(conversation: number): readonly string[] {
    const row = this.#ledger.read(
      (sql) => sql.get`SELECT allowed FROM agent_conversations WHERE id = ${conversation}`,
    );
    return z.array(z.string()).parse(JSON.parse(String(row?.allowed ?? '[]')));
  }

  allow(conversation: number, tool: string): void {
    const allowed = JSON.stringify([...new Set([...this.allowed(conversation), tool])]);
    this.#ledger.write(
      (sql) => sql.run`UPDATE agent_conversations SET allowed = ${allowed} WHERE id = ${conversation}`,
    );
  }

  remove(conversation: number): void {
    this.#ledger.write((sql) => {
      sql.run`DELETE FROM agent_messages WHERE conversation = ${conversation}`;
      sql.run`DELETE FROM agent_events WHERE conversation = ${conversation}`;
      sql.run`DELETE FROM agent_turns WHERE conversation = ${conversation}`;
      sql.run`DELETE FROM agent_conversations WHERE id = ${conversation}`;
    });
  }
}

type Row = Readonly<Record<string, unknown>>;

function conversationOf(row: Row): ConversationRow {
  return {
    id: Number(row.id),
    user: String(row.user),
    chat: String(row.chat),
    driver: String(row.driver) as DriverName,
    model: row.model === null ? null : String(row.model),
    state: Number(row.open) > 0 ? 'running' : 'idle',
    audience: row.audience === 'group' ? 'group' : 'private',
    createdAt: Number(row.created_at),
    activeAt: Number(row.active_at),
    turns: Number(row.turns),
    seq: Number(row.seq ?? 0),
    cost: Number(row.cost ?? 0),
  };
}

/** Without the fields that callers do not see. */
export function shown({
  id: _,
  user: __,
  audience: ___,
  ...conversation
}: ConversationRow): AgentConversation {
  return conversation;
}

/** Refuses a driver or model that a conversation does not have. */
export function refuseMismatch(
  known: ConversationRow | undefined,
  driver: DriverName | undefined,
  model: string | undefined,
): void {
  if (known === undefined) return;
  const chat = JSON.stringify(known.chat);
  if (driver !== undefined && driver !== known.driver)
    throw new GeodeError('agent_mismatch', `The chat ${chat} uses ${known.driver}, not ${driver}.`);
  if (model !== undefined && model !== known.model)
    throw new GeodeError(
      'agent_mismatch',
      `The chat ${chat} uses the model ${known.model ?? 'of the config'}.`,
    );
}
