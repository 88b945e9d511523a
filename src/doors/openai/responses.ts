/** `POST /v1/responses`. */
import type { Context } from 'hono';
import type { ApiEnv } from '../../api/environment.ts';
import type { AgentEvent, Agents } from '../../seams/agent.ts';
import { bodyOf } from '../json-body.ts';
import { AnswerPieces } from './answer-pieces.ts';
import { type ResponseAsked, responseRequest } from './asked.ts';
import { responseId } from './chat-of.ts';
import { errorIn, resultOf, type TurnResult } from './openai-errors.ts';
import { ResponseItems } from './response-items.ts';
import { sendData } from './send-data.ts';
import { openTurn } from './turn-of.ts';
import { responseUsage } from './usage.ts';

export async function createResponse(context: Context<ApiEnv>, agents: Agents): Promise<Response> {
  const asked = await bodyOf(context, responseRequest);
  const { chat, id, events } = await openTurn(context, agents, asked);
  const response = new GrowingResponse(asked, responseId(chat, id));
  if (asked.streams) {
    const source = counted(response.events(events, (thrown) => errorIn(thrown, context)));
    return sendData(context, source, (thrown) => ({ error: errorIn(thrown, context) }));
  }
  for await (const _event of response.events(events)) {
    // The whole response is built on the way.
  }
  return context.json(response.now(), 200);
}

async function* counted(events: AsyncIterable<object>): AsyncGenerator<object> {
  let number = 0;
  for await (const event of events) {
    yield { ...event, sequence_number: number };
    number += 1;
  }
}

class GrowingResponse {
  readonly #asked: ResponseAsked;
  readonly #id: string;
  readonly #createdAt = Math.floor(Date.now() / 1000);
  readonly #items = new ResponseItems();
  #result: TurnResult | undefined;
  #error: object | undefined;

  constructor(asked: ResponseAsked, id: string) {
    this.#asked = asked;
    this.#id = id;
  }

  /** With `explain`, a failed turn is the last event; otherwise it is thrown. */
  async *events(
    turn: AsyncIterable<AgentEvent>,
    explain?: (thrown: unknown) => object,
  ): AsyncGenerator<object> {
    yield { type: 'response.created', response: this.now() };
    yield { type: 'response.in_progress', response: this.now() };
    const pieces = new AnswerPieces();
    try {
      for await (const event of turn) {
        for (const piece of pieces.take(event)) yield* this.#items.add(piece);
      }
      yield* this.#items.close();
      this.#result = resultOf(pieces.end);
    } catch (thrown) {
      if (explain === undefined) throw thrown;
      this.#error = explain(thrown);
    }
    yield { type: `response.${this.#status}`, response: this.now() };
  }

  now(): object {
    const { model, conversation, instructions, metadata, previousResponse } = this.#asked;
    const status = this.#status;
    return {
      id: this.#id,
      object: 'response',
      created_at: this.#createdAt,
      status,
      model,
      output: structuredClone(this.#items.items),
      output_text: this.#items.outputText,
      usage: this.#result === undefined ? null : responseUsage(this.#result),
      error: this.#error ?? null,
      incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
      previous_response_id: previousResponse ?? null,
      conversation: conversation === undefined ? null : { id: conversation },
      instructions,
      metadata,
      parallel_tool_calls: false,
      temperature: null,
      top_p: null,
      tool_choice: 'none',
      tools: [],
    };
  }

  get #status(): string {
    if (this.#error !== undefined) return 'failed';
    if (this.#result === undefined) return 'in_progress';
    return this.#result.outcome === 'limit' ? 'incomplete' : 'completed';
  }
}
