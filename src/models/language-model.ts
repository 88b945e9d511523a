import { setTimeout as delay } from 'node:timers/promises';
import type {
  FinishReason,
  JSONSchema7,
  LanguageModel,
  LanguageModelUsage,
  ModelMessage as SdkMessage,
  ToolSet,
} from 'ai';
import { ZodType, z } from 'zod';
import { type Cancel, cancelled, throwIfCancelled } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import { costOf, noUsage, type PriceTable, type TokenUsage } from '../base/prices.ts';
import { type Span, spanningStream, startSpan } from '../base/spans.ts';
import type {
  JsonSchema,
  Model,
  ModelAnswer,
  ModelEvent,
  ModelFinish,
  ModelMessage,
  ModelRequest,
  ToolCall,
} from '../seams/model.ts';
import type { Accounting } from './accounting.ts';
import { CutAnswer, providerError, wasCut } from './provider-errors.ts';

/** Checked before a call, and notified of its usage after it. */
export type Books = Pick<Accounting, 'checkBudget' | 'record'>;

export interface LanguageModelOptions {
  readonly id: string;
  /** Loaded with the first call, so a host without model calls does not load the library. */
  readonly load: () => Promise<LanguageModel>;
  readonly prices: PriceTable;
  readonly accounting: Books;
  /** Timeout of one complete answer, retries included. */
  readonly timeoutMs: number;
  readonly retries: number;
}

const cutPauseMs = 250;

/** A model of the AI SDK behind Geode's seam: budget before the call, usage after it, Geode's errors. */
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
    throw new GeodeError(
      'provider_failed',
      `${this.id}: the connection was lost before the answer was complete.`,
    );
  }

  stream(request: ModelRequest, options: Cancel = {}): AsyncGenerator<ModelEvent> {
    const [service = '', ...model] = this.id.split('/');
    const span = startSpan(`chat ${model.join('/')}`, {
      kind: 'client',
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': service,
        'gen_ai.request.model': model.join('/'),
        'gen_ai.request.max_tokens': request.maxOutputTokens,
        'geode.user': request.user,
      },
    });
    return spanningStream(span, this.#stream(request, options), noteAnswer);
  }

  async *#stream(request: ModelRequest, { signal }: Cancel): AsyncGenerator<ModelEvent> {
    throwIfCancelled(signal, `The call to ${this.id}`);
    const { accounting } = this.#options;
    accounting.checkBudget(request.user);
    const abandoned = new AbortController();
    const deadline = AbortSignal.timeout(this.#options.timeoutMs);
    const stop = AbortSignal.any([abandoned.signal, deadline, ...(signal === undefined ? [] : [signal])]);
    let answer: ModelAnswer | undefined;
    try {
      for await (const event of this.#whole(request, stop)) {
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

  /** The library retries until an answer starts; an answer that is cut after that is requested again here. */
  async *#whole(request: ModelRequest, stop: AbortSignal): AsyncGenerator<ModelEvent> {
    for (let cuts = 0; ; cuts += 1) {
      let isBegun = false;
      try {
        for await (const event of this.#call(request, stop)) {
          isBegun = true;
          yield event;
        }
        return;
      } catch (thrown) {
        if (stop.aborted || cuts >= this.#options.retries || !wasCut(thrown)) throw thrown;
        if (isBegun) yield { type: 'restart' };
      }
      await delay(cutPauseMs * 2 ** cuts, undefined, { signal: stop });
      this.#options.accounting.checkBudget(request.user);
    }
  }

  async *#call(request: ModelRequest, abortSignal: AbortSignal): AsyncGenerator<ModelEvent> {
    const { load, retries, prices } = this.#options;
    const [{ jsonSchema, Output, streamText, tool }, model] = await Promise.all([import('ai'), load()]);
    // Without `execute` the library runs nothing, and without `validate` it checks nothing: the caller does both.
    const tools: ToolSet = {};
    for (const { name, description, input } of request.tools ?? [])
      tools[name] = tool({ description, inputSchema: jsonSchema<unknown>(schemaOf(input)) });
    const result = streamText({
      model,
      ...(request.instructions === undefined ? {} : { instructions: request.instructions }),
      messages: request.messages.map(sdkMessage),
      ...(request.tools === undefined ? {} : { tools }),
      ...(request.shape === undefined ? {} : { output: Output.object({ schema: request.shape }) }),
      ...(request.maxOutputTokens === undefined ? {} : { maxOutputTokens: request.maxOutputTokens }),
      maxRetries: retries,
      abortSignal,
      // Errors are part of the stream; the library would also print them.
      onError: () => {},
    });
    let text = '';
    const calls: ToolCall[] = [];
    let finish: ModelFinish = 'other';
    let usage: TokenUsage = noUsage;
    for await (const part of result.fullStream) {
      if (part.type === 'text-delta') {
        text += part.text;
        yield { type: 'text-delta', text: part.text };
      } else if (part.type === 'reasoning-delta') {
        yield { type: 'thinking-delta', text: part.text };
      } else if (part.type === 'tool-call') {
        calls.push({ id: part.toolCallId, tool: part.toolName, input: part.input });
      } else if (part.type === 'finish') {
        if (part.finishReason === 'interrupted') throw new CutAnswer();
        finish = finishOf(part.finishReason);
        usage = usageOf(part.totalUsage);
      } else if (part.type === 'error') {
        throw part.error;
      } else if (part.type === 'abort') {
        throw new Error('The call was cancelled.');
      }
    }
    if (text === '' && calls.length === 0 && finish === 'other') throw new Error('The answer is empty.');
    yield { type: 'answer', text, calls, finish, usage, cost: costOf(this.id, usage, prices) };
  }
}

/** By OpenTelemetry's GenAI conventions: numbers only, no text. */
function noteAnswer(event: ModelEvent, span: Span): void {
  if (event.type === 'restart') span.event('restart');
  if (event.type !== 'answer') return;
  span.set({
    'gen_ai.response.finish_reasons': [event.finish],
    'gen_ai.usage.input_tokens': event.usage.inputTokens,
    'gen_ai.usage.output_tokens': event.usage.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': event.usage.cachedTokens,
    'geode.cost_usd': event.cost,
  });
}

function sdkMessage(message: ModelMessage): SdkMessage {
  if (message.role === 'user') return { role: 'user', content: message.text };
  if (message.role === 'tool') {
    return {
      role: 'tool',
      content: message.results.map(({ id, tool, output, failed }) => ({
        type: 'tool-result',
        toolCallId: id,
        toolName: tool,
        output: { type: failed ? 'error-text' : 'text', value: output },
      })),
    };
  }
  const { text, calls = [] } = message;
  if (calls.length === 0) return { role: 'assistant', content: text };
  return {
    role: 'assistant',
    content: [
      ...(text === '' ? [] : [{ type: 'text' as const, text }]),
      ...calls.map(({ id, tool, input }) => ({
        type: 'tool-call' as const,
        toolCallId: id,
        toolName: tool,
        input,
      })),
    ],
  };
}

/** The library's own type has fewer fields than zod's. */
function schemaOf(input: ZodType | JsonSchema): JSONSchema7 {
  if (!(input instanceof ZodType)) return input as JSONSchema7;
  const { $schema: _, ...schema } = z.toJSONSchema(input, { io: 'input', target: 'draft-7' });
  return schema as JSONSchema7;
}

function finishOf(reason: FinishReason): ModelFinish {
  if (reason === 'tool-calls') return 'calls';
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
