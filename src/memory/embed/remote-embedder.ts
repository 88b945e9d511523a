/**
 * Embeds through a service with OpenAI's `/embeddings` or Ollama's `/api/embed`. Rate limits and server failures are
 * retried; every other error is thrown at once.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Cancel } from '../../base/cancel.ts';
import { GeodeError, isGeodeError, reasonOf } from '../../base/errors.ts';
import type { Embedder } from '../../seams/memory.ts';

export interface RemoteEmbedderOptions {
  readonly provider: 'openai' | 'ollama';
  readonly model: string;
  readonly dimensions: number;
  /** Without the last path segment: `https://api.openai.com/v1`, `http://127.0.0.1:11434`. */
  readonly baseUrl?: string;
  readonly apiKey?: string;
  readonly timeoutMs?: number;
  readonly chunkLength?: number;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const CHUNK_LENGTH = 6_000;
const BATCH_LENGTH = 100_000;
const TRIES = 4;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;
const MAX_REASON_LENGTH = 300;

export function openRemoteEmbedder(options: RemoteEmbedderOptions): Embedder {
  const wire = wires[options.provider];
  const url = `${(options.baseUrl ?? wire.baseUrl).replace(/\/$/, '')}${wire.path}`;
  return {
    model: `${options.provider}/${options.model}`,
    dimensions: options.dimensions,
    chunkLength: options.chunkLength ?? CHUNK_LENGTH,
    batchLength: BATCH_LENGTH,
    async embed(texts, _purpose, { signal }: Cancel = {}) {
      if (texts.length === 0) return [];
      const body = await patiently(() => ask(url, options, wire.request(options, texts), signal), signal);
      const vectors = wire.vectors(body);
      if (vectors === null || vectors.length !== texts.length) {
        throw failed(options, `it answered ${texts.length} texts with a different number of vectors`);
      }
      return vectors.map((vector) => unit(vector, options));
    },
    stop: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

const openAiAnswer = z.object({
  data: z.array(z.object({ index: z.number().int(), embedding: z.array(z.number()) })),
});
const ollamaAnswer = z.object({ embeddings: z.array(z.array(z.number())) });

const wires = {
  openai: {
    baseUrl: 'https://api.openai.com/v1',
    path: '/embeddings',
    request: ({ model }: RemoteEmbedderOptions, input: readonly string[]) => ({
      model,
      input,
      encoding_format: 'float',
    }),
    vectors: (body: unknown) => {
      const parsed = openAiAnswer.safeParse(body);
      return parsed.success
        ? parsed.data.data.toSorted((a, b) => a.index - b.index).map(({ embedding }) => embedding)
        : null;
    },
  },
  ollama: {
    baseUrl: 'http://127.0.0.1:11434',
    path: '/api/embed',
    request: ({ model }: RemoteEmbedderOptions, input: readonly string[]) => ({
      model,
      input,
      truncate: true,
    }),
    vectors: (body: unknown) => {
      const parsed = ollamaAnswer.safeParse(body);
      return parsed.success ? parsed.data.embeddings : null;
    },
  },
};

async function ask(
  url: string,
  options: RemoteEmbedderOptions,
  request: object,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const deadline = AbortSignal.timeout(options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` }),
      },
      body: JSON.stringify(request),
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    });
    text = await response.text();
  } catch (thrown) {
    if (signal?.aborted)
      throw new GeodeError('cancelled', 'The caller cancelled before the texts were embedded.');
    throw failed(options, deadline.aborted ? 'it did not answer in time' : reasonOf(thrown), { again: true });
  }
  if (!response.ok) {
    const again = response.status === 429 || response.status >= 500;
    const waitMs = Number(response.headers.get('retry-after')) * 1_000 || 0;
    throw failed(options, `it answered ${response.status}: ${messageIn(text, options)}`, { again, waitMs });
  }
  try {
    return JSON.parse(text);
  } catch {
    throw failed(options, 'its answer is not JSON');
  }
}

async function patiently<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (thrown) {
      if (tries === TRIES || !isGeodeError(thrown, 'embedder_failed') || thrown.details.again !== true)
        throw thrown;
      const asked = Number(thrown.details.waitMs) || 0;
      const waitMs = Math.min(LONGEST_WAIT_MS, Math.max(asked, FIRST_WAIT_MS * 2 ** (tries - 1)));
      await delay(waitMs, undefined, signal === undefined ? {} : { signal });
    }
  }
}

/** The service's error message, without the key. */
function messageIn(text: string, { apiKey }: RemoteEmbedderOptions): string {
  const short = text.replace(/\s+/g, ' ').trim().slice(0, MAX_REASON_LENGTH);
  return apiKey === undefined ? short : short.replaceAll(apiKey, '[key]');
}

function failed(
  { provider, model }: RemoteEmbedderOptions,
  reason: string,
  details: Readonly<Record<string, unknown>> = {},
): GeodeError {
  return new GeodeError('embedder_failed', `${provider} could not embed with ${model}: ${reason}.`, {
    details,
  });
}

function unit(values: readonly number[], options: RemoteEmbedderOptions): Float32Array {
  if (values.length !== options.dimensions || values.some((value) => !Number.isFinite(value))) {
    throw failed(options, `it returned ${values.length} numbers instead of ${options.dimensions}`);
  }
  const length = Math.hypot(...values) || 1;
  return Float32Array.from(values, (value) => value / length);
}
