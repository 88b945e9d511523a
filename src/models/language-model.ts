import type { FinishReason, LanguageModel, LanguageModelUsage } from 'ai';
import { type Cancel, cancelled, throwIfCancelled } from '../core/cancel.ts';
import { GeodeError } from '../core/errors.ts';
import type { Model, ModelAnswer, ModelEvent, ModelFinish, ModelRequest } from '../core/model.ts';
import { costOf, noUsage, type PriceTable, type TokenUsage } from '../core/prices.ts';
import type { Accounting } from './accounting.ts';
import { providerError } from './provider-errors.ts';

export interface LanguageModelOptions {
  readonly id: string;
  /** Loaded with the first call: a host that asks no model does not pay for the library. */
  readonly load: () => Promise<LanguageModel>;
  readonly prices: PriceTable;
  readonly accounting: Accounting;
  /** Of one whole answer, retries included. */
  readonly timeoutMs: number;
  readonly retries: number;
}

/** A model of the AI SDK behind our seam: budget before the call, usage after it, our own errors. */
export class SdkModel implements Model {
  readonly id: string;
  readonly #options: LanguageModelOptions;

  constructor(options: LanguageModelOptions) {
    this.id = options.id;
    this.#options = options;
  }

  async ask(request: ModelRequest, options?: Cancel): Promise<ModelAnswer> {
    for await (const event of this.stream(request, options)) {
      if (event.type === 'answer') {
        const { type: _, ...answer } = event;
        return answer;
      }
    }
    throw new GeodeError('provider_failed', `${this.id}: the answer had no end.`);
  }

  async *stream(request: ModelRequest, { signal }: Cancel = {}): AsyncGenerator<ModelEvent> {
    throwIfCancelled(signal, `The call to ${this.id}`);
    const { accounting } = this.#options;
    accounting.checkBudget(request.user);
    const abandoned = new AbortController();
    const deadline = AbortSignal.timeout(this.#options.timeoutMs);
    const stop = AbortSignal.any([abandoned.signal, deadline, ...(signal === undefined ? [] : [signal])]);
    let answer: ModelAnswer | undefined;
    try {
      for await (const event of this.#call(request, stop)) {
        if (event.type === 'answer') answer = event;
        yield event;
      }
    } catch (thrown) {
      if (signal?.aborted) throw cancelled(`The call to ${this.id}`, thrown);
      if (deadline.aborted) {
        throw new GeodeError('timed_out', `${this.id} did not answer within ${this.#options.timeoutMs} ms.`, {
          cause: thrown,
        });
      }
      throw await providerError(this.id, thrown);
    } finally {
      abandoned.abort();
      const { usage, cost } = answer ?? { usage: noUsage, cost: null };
      accounting.record(request.user, this.id, usage, cost);
    }
  }

  async *#call(request: ModelRequest, abortSignal: AbortSignal): AsyncGenerator<ModelEvent> {
    const { load, retries, prices } = this.#options;
    const [{ Output, streamText }, model] = await Promise.all([import('ai'), load()]);
    const result = streamText({
      model,
      ...(request.instructions === undefined ? {} : { instructions: request.instructions }),
      messages: request.messages.map(({ role, text }) => ({ role, content: text })),
      ...(request.shape === undefined ? {} : { output: Output.object({ schema: request.shape }) }),
      ...(request.maxOutputTokens === undefined ? {} : { maxOutputTokens: request.maxOutputTokens }),
      maxRetries: retries,
      abortSignal,
      // Errors come out of the stream; the library would print them as well.
      onError: () => {},
    });
    let text = '';
    let finish: ModelFinish = 'other';
    let usage: TokenUsage = noUsage;
    for await (const part of result.fullStream) {
      if (part.type === 'text-delta') {
        text += part.text;
        yield { type: 'text-delta', text: part.text };
      } else if (part.type === 'finish') {
        finish = finishOf(part.finishReason);
        usage = usageOf(part.totalUsage);
      } else if (part.type === 'error') {
        throw part.error;
      } else if (part.type === 'abort') {
        throw new Error('The call was stopped.');
      }
    }
    if (text === '' && finish === 'other') throw new Error('The answer is empty.');
    yield { type: 'answer', text, finish, usage, cost: costOf(this.id, usage, prices) };
  }
}

function finishOf(reason: FinishReason): ModelFinish {
  if (reason === 'content-filter') return 'refused';
  return reason === 'stop' || reason === 'length' ? reason : 'other';
}

function usageOf({ inputTokens, inputTokenDetails, outputTokens }: LanguageModelUsage): TokenUsage {
  return {
    inputTokens: inputTokens ?? 0,
    cachedTokens: inputTokenDetails.cacheReadTokens ?? 0,
    outputTokens: outputTokens ?? 0,
  };
}
