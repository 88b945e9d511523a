/**
 * The content of a chat, in order: the messages of its people, and the work and words of its agent. The messages come from
 * the chat, the work from the conversation of the agent; a turn belongs to the message that it answers.
 */
import type { AgentEvent } from './agent-events.ts';
import type { ChatItem } from './follow-chat.ts';

type Of<T extends AgentEvent['type']> = Extract<AgentEvent, { type: T }>;
type Message = Extract<ChatItem, { type: 'message' }>;
export type Reply = Extract<ChatItem, { type: 'reply' }>;

export interface Step {
  readonly type: 'step';
  readonly key: string;
  readonly call: Of<'tool-call'>;
  /** Undefined while it runs. */
  readonly result: Of<'tool-result'> | undefined;
  /** The turn ended before the call did. */
  readonly isStopped: boolean;
}

export type Item =
  | {
      readonly type: 'own';
      readonly key: string;
      readonly text: string;
      readonly message: Message | undefined;
      /** The turn that it began. */
      readonly turn: string | undefined;
    }
  | { readonly type: 'reply'; readonly key: string; readonly reply: Reply }
  | { readonly type: 'text'; readonly key: string; readonly text: string; readonly isGrowing: boolean }
  | { readonly type: 'thinking'; readonly key: string; readonly text: string; readonly isGrowing: boolean }
  | Step
  | { readonly type: 'steps'; readonly key: string; readonly steps: readonly Step[] }
  | { readonly type: 'files'; readonly key: string; readonly changes: readonly Of<'file-change'>[] }
  | { readonly type: 'approval'; readonly key: string; readonly id: string }
  | { readonly type: 'end'; readonly key: string; readonly event: Of<'result'> | Of<'error'> };

interface Turn {
  readonly at: number;
  readonly start: Of<'turn-start'> | undefined;
  readonly events: readonly AgentEvent[];
  readonly isOver: boolean;
}

/** More steps in a row than this are one line that opens. */
const mostSteps = 4;

export function itemsOf(messages: readonly ChatItem[], events: readonly AgentEvent[]): readonly Item[] {
  const turns = turnsOf(events);
  const answered = matched(turns, messages);
  const covered = new Set([...answered.values()].map(({ id }) => id));
  const entries: { readonly at: number; readonly items: readonly Item[] }[] = turns.map((turn) => {
    const message = answered.get(turn);
    const during = messages.filter(
      (each): each is Message =>
        each.type === 'message' &&
        !each.text.startsWith('/') &&
        !covered.has(each.id) &&
        each.at > turn.at &&
        each.at < endOf(turn),
    );
    // The agent has read them: they stand where they came, and need no answer of their own.
    for (const { id } of during) covered.add(id);
    return { at: Math.min(turn.at, message?.at ?? turn.at), items: itemsOfTurn(turn, message, during) };
  });
  for (const each of messages) {
    if (each.type === 'message') {
      if (!covered.has(each.id)) entries.push({ at: each.at, items: [ownItem(each)] });
    } else if (
      !isQuestion(each) &&
      (each.answers === null || !covered.has(each.answers) || each.file !== null || each.isFailure)
    )
      entries.push({ at: each.at, items: [{ type: 'reply', key: `reply ${each.seq}`, reply: each }] });
  }
  return entries.sort((a, b) => a.at - b.at).flatMap(({ items }) => items);
}

/** The question of an approval, as the gateway asks it on channels that have no cards. */
function isQuestion({ buttons }: Reply): boolean {
  return buttons.some(({ value }) => /^\/(approve|deny) /.test(value));
}

function ownItem(message: Message, turn?: string): Item {
  return { type: 'own', key: `own ${message.id}`, text: message.text, message, turn };
}

function turnsOf(events: readonly AgentEvent[]): readonly Turn[] {
  const found = new Map<string, AgentEvent[]>();
  for (const event of events) {
    const known = found.get(event.turn);
    if (known === undefined) found.set(event.turn, [event]);
    else known.push(event);
  }
  return [...found.values()].map((own) => ({
    at: own[0]?.at ?? 0,
    start: own.find((event) => event.type === 'turn-start'),
    events: own,
    isOver: own.some(({ type }) => type === 'result' || type === 'error'),
  }));
}

/** The message that each turn answers: the first one in order that its text contains. */
function matched(turns: readonly Turn[], messages: readonly ChatItem[]): ReadonlyMap<Turn, Message> {
  const open = messages.filter(
    (each): each is Message => each.type === 'message' && !each.text.startsWith('/'),
  );
  const found = new Map<Turn, Message>();
  for (const turn of turns) {
    const said = turn.start?.message ?? '';
    const at = open.findIndex(({ text }) => said.includes(text));
    const message = open[at];
    if (message === undefined) continue;
    found.set(turn, message);
    open.splice(at, 1);
  }
  return found;
}

function endOf({ events, isOver }: Turn): number {
  return isOver ? (events.at(-1)?.at ?? 0) : Number.POSITIVE_INFINITY;
}

function itemsOfTurn(
  { start, events, isOver }: Turn,
  message: Message | undefined,
  during: readonly Message[],
): readonly Item[] {
  const items: Item[] = [];
  if (message !== undefined) items.push(ownItem(message, start?.turn));
  else if (start !== undefined) {
    const { turn, message: words } = start;
    items.push({ type: 'own', key: `own ${turn}`, text: words, message: undefined, turn });
  }
  const results = new Map(
    events.flatMap((event) => (event.type === 'tool-result' ? [[event.id, event] as const] : [])),
  );
  const last = events.at(-1);
  const rest = [...during];
  for (const event of events) {
    while (rest[0] !== undefined && rest[0].at <= event.at)
      items.push(...rest.splice(0, 1).map((each) => ownItem(each)));
    const key = String(event.seq);
    const isGrowing = event === last && !isOver;
    if (event.type === 'text' || event.type === 'thinking') {
      if (event.text.trim() !== '') items.push({ type: event.type, key, text: event.text, isGrowing });
    } else if (event.type === 'tool-call') {
      const result = results.get(event.id);
      items.push({ type: 'step', key, call: event, result, isStopped: isOver && result === undefined });
    } else if (event.type === 'file-change') addChange(items, key, event);
    else if (event.type === 'permission-request') items.push({ type: 'approval', key, id: event.id });
    else if (event.type === 'result' || event.type === 'error') items.push({ type: 'end', key, event });
  }
  items.push(...rest.map((each) => ownItem(each)));
  return folded(items);
}

function addChange(items: Item[], key: string, change: Of<'file-change'>): void {
  const last = items.at(-1);
  if (last?.type === 'files') items[items.length - 1] = { ...last, changes: [...last.changes, change] };
  else items.push({ type: 'files', key, changes: [change] });
}

/** Many steps in a row, all of them over, are one line. */
function folded(items: readonly Item[]): readonly Item[] {
  const shown: Item[] = [];
  let row: Step[] = [];
  const flush = () => {
    const isMany =
      row.length > mostSteps && row.every(({ result, isStopped }) => result !== undefined || isStopped);
    if (isMany) shown.push({ type: 'steps', key: `steps ${row[0]?.key}`, steps: row });
    else shown.push(...row);
    row = [];
  };
  for (const item of items) {
    if (item.type === 'step') row.push(item);
    else {
      flush();
      shown.push(item);
    }
  }
  flush();
  return shown;
}
