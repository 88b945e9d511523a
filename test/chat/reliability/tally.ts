import { plainLine } from '../../../src/chat/plain-text.ts';
import { answerTo, foreignSecrets, type People, type Question } from './people.ts';

/** A message or a reply of a chat, as the gateway has it on record. */
export type Entry =
  | { readonly type: 'message'; readonly id: number; readonly text: string }
  | {
      readonly type: 'reply';
      readonly answers: number | null;
      readonly isLast: boolean;
      readonly text: string;
      readonly state: string;
    };

export interface Tally {
  /** The person reads the answer, once. */
  once: number;
  /** Answers that may not have arrived, reported by the gateway in the chat. */
  unknown: number;
  /** Unknown, and the person does not read that it is. */
  unreported: string[];
  /** The person reads that it did not work, and why. */
  failed: string[];
  /** The person reads an answer twice. */
  doubled: string[];
  /** Not answered and not reported. */
  lost: string[];
  /** A secret of another chat. */
  mixed: string[];
  outOfOrder: string[];
  /** Unfinished parts of answers in the chat, marked as such because their gateway was killed while it sent them. */
  draftsLeft: number;
  /** The person reads that the agent's sandbox ended, and that the message is tried once more. */
  retriesTold: number;
  /** Retries that the gateway reported and stored. */
  retriesStored: number;
}

/** Compares what each person wrote, what the gateway has on record and what the person reads. */
export function tallyOf(
  people: People,
  recordOf: ReadonlyMap<number, readonly Entry[]>,
  shown: (person: number) => readonly string[],
): Tally {
  const tally: Tally = {
    ...{ once: 0, unknown: 0, draftsLeft: 0, retriesTold: 0, retriesStored: 0 },
    ...{ unreported: [], failed: [], doubled: [], lost: [], mixed: [], outOfOrder: [] },
  };
  for (const [person, questions] of people.questions)
    countChat(tally, person, questions, recordOf.get(person) ?? [], shown(person));
  return tally;
}

function countChat(
  tally: Tally,
  person: number,
  questions: readonly Question[],
  record: readonly Entry[],
  shown: readonly string[],
): void {
  const messages = record.filter((entry) => entry.type === 'message');
  const replies = record.filter((entry) => entry.type === 'reply');
  if (messages.length !== questions.length)
    tally.doubled.push(`person ${person}: ${questions.length} written, ${messages.length} on record`);
  const wanted = questions.map(({ text }) => answerTo(text));
  for (const [index, { text }] of questions.entries()) {
    const message = messages[index];
    if (message?.text !== text) {
      tally.outOfOrder.push(`${text}: ${message?.text ?? 'not'} on record`);
      continue;
    }
    const own = replies.filter(({ answers }) => answers === message.id);
    countQuestion(tally, answerTo(text), own, shown);
  }
  tally.mixed.push(...shown.flatMap((each) => foreignSecrets(each, person)));
  tally.retriesTold += shown.filter((each) => each.includes('tried once more')).length;
  tally.retriesStored += replies.filter(({ text }) => text.includes('tried once more')).length;
  const places = shown.map((each) => wanted.indexOf(each)).filter((place) => place >= 0);
  for (const [index, place] of places.entries())
    if (place < (places[index - 1] ?? 0)) tally.outOfOrder.push(wanted[place] ?? '');
  tally.draftsLeft += shown.filter((each) => each.startsWith('Answer') && each.endsWith(' …')).length;
}

function countQuestion(
  tally: Tally,
  answer: string,
  replies: readonly Extract<Entry, { type: 'reply' }>[],
  shown: readonly string[],
): void {
  const [reply] = replies;
  if (reply === undefined) return void tally.lost.push(`${answer}: no reply`);
  if (replies.length > 1) tally.doubled.push(`${answer}: ${replies.length} replies`);
  const times = shown.filter((each) => each === reply.text).length;
  if (reply.text !== answer) {
    tally.failed.push(`${answer}: ${reply.text}`);
    const isTold = shown.some((each) => unescaped(each).startsWith(firstLine(reply.text)));
    if (reply.state === 'sent' && !isTold) tally.lost.push(`${answer}: ${reply.text}`);
  } else if (times > 1) tally.doubled.push(`${answer}: read ${times} times`);
  else if (reply.state === 'unknown') {
    tally.unknown += 1;
    if (!shown.some((each) => isReportOf(each, answer))) tally.unreported.push(answer);
  } else if (reply.state === 'sent' && times === 1) tally.once += 1;
  else tally.lost.push(`${answer}: ${reply.state}, read ${times} times`);
}

/** The words with which a gateway says in the chat that an answer may be missing, and how to have it. */
export function isReportOf(text: string, answer: string): boolean {
  const words = unescaped(text);
  return words.includes(`while I sent “${plainLine(answer, 60)}”`) && /\/again \d+/.test(words);
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

/** As the person reads it: marks that would be formatting are escaped on the wire. */
function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/g, '$1');
}
