/** `POST /v1/chat/completions`. */
import type { Context } from 'hono';
import type { ApiEnv } from '../../api/environment.ts';
import type { AgentEvent, Agents } from '../../seams/agent.ts';
import { bodyOf } from '../json-body.ts';
import { AnswerPieces, type Piece } from './answer-pieces.ts';
import { chatRequest } from './asked.ts';
import { errorIn, resultOf, type TurnResult } from './openai-errors.ts';
import { sendData } from './send-data.ts';
import { openTurn } from './turn-of.ts';
import { chatUsage } from './usage.ts';

export async function chatCompletion(context: Context<ApiEnv>, agents: Agents): Promise<Response> {
  const asked = await bodyOf(context, chatRequest);
  const { id, events } = await openTurn(context, agents, asked);
  const head = { id: `chatcmpl-${id}`, created: Math.floor(Date.now() / 1000), model: asked.model };
  if (asked.streams) {
    const chunks = chunksOf(events, head, asked.includesUsage);
    return sendData(context, chunks, (thrown) => ({ error: errorIn(thrown, context) }));
  }
  return context.json(await completionOf(events, head), 200);
}

interface Head {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

async function* chunksOf(
  events: AsyncIterable<AgentEvent>,
  head: Head,
  includesUsage: boolean,
): AsyncGenerator<object | string> {
  const chunk = (delta: object, finish: string | null = null) => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...(includesUsage && { usage: null }),
  });
  const pieces = new AnswerPieces();
  yield chunk({ role: 'assistant', content: '' });
  for await (const event of events) {
    for (const piece of pieces.take(event)) yield chunk(deltaOf(piece));
  }
  const result = resultOf(pieces.end);
  yield chunk({}, finishOf(result));
  if (includesUsage)
    yield { ...head, object: 'chat.completion.chunk', choices: [], usage: chatUsage(result) };
  yield '[DONE]';
}

async function completionOf(events: AsyncIterable<AgentEvent>, head: Head): Promise<object> {
  const pieces = new AnswerPieces();
  const texts = { text: '', thinking: '' };
  for await (const event of events) {
    for (const { type, text } of pieces.take(event)) texts[type] += text;
  }
  const result = resultOf(pieces.end);
  const message = {
    role: 'assistant',
    content: texts.text,
    refusal: null,
    ...(texts.thinking !== '' && { reasoning_content: texts.thinking }),
  };
  return {
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(result) }],
    usage: chatUsage(result),
  };
}

function deltaOf({ type, text }: Piece): object {
  return type === 'thinking' ? { reasoning_content: text } : { content: text };
}

function finishOf({ outcome }: TurnResult): string {
  return outcome === 'limit' ? 'length' : 'stop';
}
