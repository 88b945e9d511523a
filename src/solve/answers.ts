import { z } from 'zod';
import { GeodeError } from '../base/errors.ts';
import { addUsage, type TokenUsage } from '../base/prices.ts';
import type { Model, ModelAnswer, ModelRequest } from '../seams/model.ts';

/** A package by its name in a registry, with an optional version: no option, path or URL. */
const packageName = z
  .string()
  .max(200)
  .regex(/^@?[A-Za-z0-9][\w.\-/[\],@<>=!~^* ]*$/, 'is not the name of a package')
  .refine((name) => !/^\.|:|\/\//.test(name), 'is not the name of a package');

/** A model's answer for an attempt. */
export const solutionShape = z.object({
  language: z.string().describe('the language of the code'),
  code: z.string().describe('the whole program, ready to run; empty only if a person is needed'),
  files: z
    .array(z.object({ path: z.string(), content: z.string() }))
    .default([])
    .describe('further text files that the code needs, next to it'),
  checks: z
    .string()
    .default('')
    .describe('a test program in the same language, if no tests are given; empty if none can be written'),
  dependencies: z
    .array(packageName)
    .max(20)
    .default([])
    .describe('packages to install before it runs, only where that is allowed: ["requests==2.32"]'),
  needs: z
    .string()
    .default('')
    .describe('what only a person can provide, such as a password or a decision; otherwise empty'),
});

export const reflectionShape = z.object({
  analysis: z.string().describe('what happened, from the evidence'),
  cause: z.string().describe('the root cause in one sentence'),
  change: z.string().describe('what to change in the next attempt'),
});

export const judgementShape = z.object({
  passed: z.boolean().describe('whether the evidence shows that the problem is solved'),
  reason: z.string().describe('one sentence'),
});

/** Tokens and money spent, even if the answer was useless. */
export interface AnswerCost {
  readonly usage: TokenUsage;
  readonly cost: number;
}

/**
 * Asks for an answer in a given shape. A model that answers in another format gets one correction. `onSpent` is
 * called for every call, even a useless one. Yields the text as it arrives.
 */
export async function* askFor<T>(
  model: Model,
  request: ModelRequest & { readonly shape: z.ZodType<T> },
  {
    signal,
    onSpent,
  }: { readonly signal?: AbortSignal | undefined; readonly onSpent: (spent: AnswerCost) => void },
): AsyncGenerator<string, T> {
  let messages = request.messages;
  for (let lastTry = false; ; lastTry = true) {
    const answer = yield* stream(model, { ...request, messages }, signal, onSpent);
    const parsed = parseAnswer(answer.text, request.shape);
    if (parsed.success) return parsed.data;
    if (lastTry || answer.finish === 'refused') {
      const why =
        answer.finish === 'refused' ? 'declined to answer' : `answered in another format: ${parsed.reason}`;
      throw new GeodeError('answer_unusable', `${model.id} ${why}.`, {
        details: { answer: answer.text.slice(0, 2_000) },
      });
    }
    messages = [
      ...messages,
      { role: 'assistant', text: answer.text || '(nothing)' },
      {
        role: 'user',
        text: `That is not the requested JSON: ${parsed.reason}. Send only the JSON.`,
      },
    ];
  }
}

async function* stream(
  model: Model,
  request: ModelRequest,
  signal: AbortSignal | undefined,
  onSpent: (spent: AnswerCost) => void,
): AsyncGenerator<string, ModelAnswer> {
  for await (const event of model.stream(request, { signal })) {
    if (event.type === 'text-delta') {
      yield event.text;
      continue;
    }
    // Text that was shown stays visible, so mark the new start.
    if (event.type === 'restart') yield '\n\n(The connection was lost; the model starts again.)\n\n';
    if (event.type !== 'answer') continue;
    onSpent({ usage: event.usage, cost: event.cost ?? 0 });
    return event;
  }
  throw new GeodeError(
    'provider_failed',
    `${model.id}: the connection was lost before the answer was complete.`,
  );
}

export function addSpent(a: AnswerCost, b: AnswerCost): AnswerCost {
  return { usage: addUsage(a.usage, b.usage), cost: a.cost + b.cost };
}

type Parsed<T> =
  | { readonly success: true; readonly data: T }
  | { readonly success: false; readonly reason: string };

/** The first JSON object of a text that matches the shape. Models often wrap it in words or a code fence. */
function parseAnswer<T>(text: string, shape: z.ZodType<T>): Parsed<T> {
  const begin = text.indexOf('{');
  const end = text.lastIndexOf('}');
  if (begin < 0 || end < begin) return { success: false, reason: 'it contains no JSON object' };
  try {
    const parsed = shape.safeParse(JSON.parse(text.slice(begin, end + 1)));
    if (parsed.success) return { success: true, data: parsed.data };
    return { success: false, reason: z.prettifyError(parsed.error).replaceAll('\n', ' ').slice(0, 500) };
  } catch {
    return { success: false, reason: 'its JSON is invalid' };
  }
}
