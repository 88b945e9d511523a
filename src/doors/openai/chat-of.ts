/**
 * Which chat of the house a request continues. Clients name it (a response, a conversation, a header), or send its
 * whole history. Nothing is stored for this: the house already has every chat and its transcript.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { GeodeError, isGeodeError } from '../../base/errors.ts';
import { parsedJson } from '../../base/json.ts';
import type { AgentTurnRecord, UserAgents } from '../../seams/agent.ts';
import { answerText } from './answer-pieces.ts';
import type { Asked, Said } from './asked.ts';
import { textOf } from './content.ts';
import { plainText } from './tool-card.ts';

interface Named {
  header(name: string): string | undefined;
  /** Unique to the request: a new chat without a name gets this one. */
  readonly mark: string;
}

export async function chatOf(asked: Asked, own: UserAgents, { header, mark }: Named): Promise<string> {
  if (asked.previousResponse !== undefined) return await chatOfResponse(asked.previousResponse, own);
  const named = asked.conversation ?? (header('x-openwebui-chat-id') || header('x-session-id'));
  return named || (chatOfHistory(asked, own) ?? `${prefixOf(asked)}${hashOf(mark)}`);
}

export function hasConversation(own: UserAgents, chat: string): boolean {
  try {
    return own.get(chat).chat === chat;
  } catch (error) {
    if (isGeodeError(error, 'agent_not_found')) return false;
    throw error;
  }
}

const responseShape = z.tuple([z.string(), z.string()]);

/** The id of a response is its chat and its turn, so nothing has to be stored to find them. */
export function responseId(chat: string, turn: string): string {
  return `resp_${Buffer.from(JSON.stringify([chat, turn])).toString('base64url')}`;
}

async function chatOfResponse(id: string, own: UserAgents): Promise<string> {
  const text = Buffer.from(/^resp_([\w-]+)$/.exec(id)?.[1] ?? '', 'base64url').toString();
  const [chat, turn] = responseShape.safeParse(parsedJson(text)).data ?? [];
  if (chat === undefined || !hasConversation(own, chat))
    throw refused('agent_not_found', `There is no response ${JSON.stringify(id.slice(0, 100))}.`);
  for await (const event of own.events(chat, { after: own.get(chat).seq - 1 })) {
    if (event.turn === turn) return chat;
  }
  throw refused('invalid_input', 'Only the newest response of a conversation can be continued.');
}

function refused(code: 'agent_not_found' | 'invalid_input', message: string): GeodeError {
  const hint = 'Continue the newest response, or send the whole history without previous_response_id.';
  return new GeodeError(code, message, { hint, details: { param: 'previous_response_id' } });
}

/** The chat whose turns are exactly the history of the request. */
function chatOfHistory(asked: Asked, own: UserAgents): string | undefined {
  const rounds = roundsOf(asked.said);
  if (rounds.length === 0) return undefined;
  const prefix = prefixOf(asked);
  return own
    .list()
    .filter(({ chat, turns }) => chat.startsWith(prefix) && turns === rounds.length)
    .find(({ chat }) => isHistory(rounds, [...own.transcript(chat)]))?.chat;
}

interface Round {
  readonly question: string;
  readonly answer: string;
}

/** Questions with their answers, without the newest question. */
function roundsOf(said: readonly Said[]): readonly Round[] {
  const rounds: Round[] = [];
  let question: string[] = [];
  let answer: string[] = [];
  for (const { role, content } of said) {
    if (role === 'system') continue;
    if (role === 'user' && answer.length > 0) {
      rounds.push(roundOf(question, answer));
      question = [];
      answer = [];
    }
    (role === 'user' ? question : answer).push(textOf(content));
  }
  return rounds;
}

function roundOf(question: readonly string[], answer: readonly string[]): Round {
  return { question: plainText(question.join('\n\n')), answer: plainText(answer.join('\n\n')) };
}

function isHistory(rounds: readonly Round[], turns: readonly AgentTurnRecord[]): boolean {
  const newest = turns.at(-1)?.conversation;
  const current = turns.filter(({ conversation }) => conversation === newest);
  return (
    current.length === rounds.length &&
    rounds.every(({ question, answer }, index) => isRound(question, answer, current[index]?.events ?? []))
  );
}

/** The first message of a chat begins with the client's instructions. A stopped answer is only partly known to it. */
function isRound(question: string, answer: string, events: AgentTurnRecord['events']): boolean {
  const start = events.find(({ type }) => type === 'turn-start');
  const last = events.at(-1);
  const asked = plainText(start?.type === 'turn-start' ? start.message : '');
  if (!asked.endsWith(question)) return false;
  const answered = plainText(answerText(events));
  return last?.type === 'result' && last.outcome !== 'interrupted'
    ? answered === answer
    : answered.startsWith(answer);
}

/** Chats that begin with the same question for the same person. */
function prefixOf({ said, person, model }: Asked): string {
  const first = said.find(({ role }) => role === 'user');
  return `openai-${hashOf(JSON.stringify([model, person ?? null, plainText(textOf(first?.content))]))}-`;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
