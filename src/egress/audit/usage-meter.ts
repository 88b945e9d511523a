import { z } from 'zod';
import { parsedJson } from '../../base/json.ts';
import type { TokenUsage } from '../../base/prices.ts';

/** Only this much of a non-streaming answer is parsed. */
const mostJson = 8 * 1024 ** 2;
const longestLine = 1024 ** 2;
const bytesPerToken = 4;

const count = z.number().int().nonnegative().optional().catch(undefined);
const cached = z.object({ cached_tokens: count }).optional().catch(undefined);
const usageSchema = z.object({
  input_tokens: count,
  prompt_tokens: count,
  output_tokens: count,
  completion_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
  prompt_tokens_details: cached,
  input_tokens_details: cached,
});
const part = z
  .object({
    model: z.string().max(200).optional().catch(undefined),
    usage: usageSchema.nullish().catch(undefined),
  })
  .optional()
  .catch(undefined);
/** Anthropic puts usage into `message`, OpenAI's Responses API into `response`, others at the top level. */
const messageSchema = z.looseObject({ message: part, response: part }).and(z.looseObject({}));

/** Reads the usage of a model call from the passing bytes, in the formats of Anthropic and OpenAI. Changes nothing. */
export class UsageMeter {
  readonly #isStream: boolean;
  #text = '';
  #lines = 0;
  #isTooLong = false;
  model = '';
  #input = 0;
  #output = 0;
  #cached = 0;
  #seen = false;

  constructor(contentType: string) {
    this.#isStream = contentType.includes('event-stream');
  }

  write(chunk: Buffer): void {
    if (this.#isTooLong) return;
    this.#text += chunk.toString('latin1');
    if (this.#isStream) this.#takeLines();
    if (this.#text.length > (this.#isStream ? longestLine : mostJson)) {
      this.#isTooLong = true;
      this.#text = '';
    }
  }

  /** Estimates the usage of an answer that reports none: one token per stream event, or per four bytes. */
  end(requestBytes: number, answerBytes: number): TokenUsage {
    if (!this.#isStream) this.#take(this.#text);
    if (this.#seen)
      return { inputTokens: this.#input, outputTokens: this.#output, cachedTokens: this.#cached };
    return {
      inputTokens: Math.ceil(requestBytes / bytesPerToken),
      outputTokens: this.#isStream ? this.#lines : Math.ceil(answerBytes / bytesPerToken),
      cachedTokens: 0,
    };
  }

  #takeLines(): void {
    const lines = this.#text.split('\n');
    this.#text = lines.pop() ?? '';
    for (const line of lines) {
      if (!line.startsWith('data:')) continue;
      this.#lines += 1;
      this.#take(line.slice(5));
    }
  }

  #take(text: string): void {
    const value = parsedJson(text);
    const parsed = messageSchema.safeParse(value);
    if (!parsed.success) return;
    for (const one of [part.parse(value), parsed.data.message, parsed.data.response]) this.#add(one);
  }

  /** Later counts replace earlier ones, which were smaller. */
  #add(found: z.infer<typeof part>): void {
    if (found?.model) this.model = found.model;
    const usage = found?.usage;
    if (usage === undefined || usage === null) return;
    this.#seen = true;
    const read = usage.cache_read_input_tokens ?? 0;
    const made = usage.cache_creation_input_tokens ?? 0;
    const input = usage.prompt_tokens ?? (usage.input_tokens ?? 0) + read + made;
    const inside =
      usage.prompt_tokens_details?.cached_tokens ?? usage.input_tokens_details?.cached_tokens ?? read;
    this.#input = Math.max(this.#input, input);
    this.#output = Math.max(this.#output, usage.output_tokens ?? usage.completion_tokens ?? 0);
    this.#cached = Math.max(this.#cached, inside);
  }
}
