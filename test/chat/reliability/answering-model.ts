import { z } from 'zod';
import type { Reply, Script } from '../../fixtures/model-server/model-server.ts';
import { answerTo, foreignSecrets, secretOf } from './people.ts';

export interface AnsweringModel {
  readonly script: Script;
  /** Secrets of other chats in the model's input. */
  readonly foreign: readonly string[];
  /** Persons whose questions came here. */
  readonly asked: ReadonlySet<number>;
}

const bodySchema = z.object({
  messages: z.array(
    z.object({
      role: z.string(),
      content: z.union([z.string(), z.array(z.looseObject({ text: z.string().optional() }))]),
    }),
  ),
});
const questions = /question (\d+) of person(\d+) with secret\d+(?: by hand| slowly)?/g;

/**
 * A model that answers each question at once with words that are only right there. `before` is awaited first: what it
 * does happens in the middle of a turn.
 */
export function answeringModel(before: (step: number, person: number) => Promise<void>): AnsweringModel {
  const foreign: string[] = [];
  const asked = new Set<number>();
  return {
    foreign,
    asked,
    async script({ body, prompt }) {
      const found = lastQuestion(body);
      if (found === undefined) return { text: 'Nobody asked anything.' };
      const { text, step, person, round } = found;
      asked.add(person);
      foreign.push(...foreignSecrets(prompt, person));
      await before(step, person);
      return replyTo(text, person, round);
    },
  };
}

function replyTo(question: string, person: number, round: number): Reply {
  // The file of the sandbox holds the secret: the model reads there what an earlier turn of this chat wrote.
  const command = `cat note.txt; echo ${secretOf(person)} > note.txt`;
  if (question.endsWith(' by hand') && round === 0)
    return { text: '', calls: [{ tool: 'shell', input: { command } }] };
  const text = answerTo(question);
  return question.endsWith(' slowly') ? { text, pauseMs: 700 } : { text };
}

function lastQuestion(body: unknown) {
  const { messages } = bodySchema.parse(body);
  for (const [at, { role, content }] of [...messages.entries()].toReversed()) {
    if (role !== 'user') continue;
    const said = typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('\n');
    // Two messages without an answer between them come as one: the last counts.
    const match = [...said.matchAll(questions)].at(-1);
    if (match === undefined) continue;
    const round = messages.slice(at).filter((each) => each.role === 'assistant').length;
    return { text: match[0], step: Number(match[1]), person: Number(match[2]), round };
  }
  return undefined;
}
