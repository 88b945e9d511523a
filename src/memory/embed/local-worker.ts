/** The thread that runs the model: windows of tokens in, the mean of its last layer out. */
import { readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import { Tokenizer } from '@huggingface/tokenizers';
import { Tensor } from 'onnxruntime-common';
import { serveCalls } from '../worker-calls.ts';
import type { ModelFiles } from './fetch-model.ts';
import { OnnxSession } from './onnx-session.ts';

export type EmbedCalls = {
  embed: { input: EmbedCall; output: readonly Float32Array[] };
};

interface EmbedCall {
  readonly texts: readonly string[];
  readonly purpose: 'query' | 'entry';
}

export interface EmbedWorkerInput {
  readonly files: ModelFiles;
  /** The path of ONNX Runtime's binding. */
  readonly library: string;
  readonly dimensions: number;
  readonly maxTokens: number;
  readonly threads: number;
}

const { files, library, dimensions, maxTokens, threads }: EmbedWorkerInput = workerData;
const tokenizer = new Tokenizer(JSON.parse(readFileSync(files.tokenizer, 'utf8')), {
  tokenizer_class: 'BertTokenizer',
});
const session = new OnnxSession(library, files.weights, {
  intraOpNumThreads: threads,
  interOpNumThreads: 1,
  // An operator takes less time than waking a thread, so threads spin, but only while a window is computed.
  extra: { session: { intra_op: { allow_spinning: '1' }, force_spinning_stop: '1' } },
});

let queries: Promise<unknown> = Promise.resolve();

serveCalls<EmbedCalls>({
  embed({ texts, purpose }) {
    const vectors = embed(texts, purpose);
    if (purpose === 'query') queries = Promise.allSettled([queries, vectors]);
    return vectors;
  },
});

/**
 * One window at a time. In a batch it would be padded, its vector would depend on the others, and a query would wait
 * for all of them.
 */
async function embed(texts: readonly string[], purpose: EmbedCall['purpose']): Promise<Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (const text of texts) {
    const sum = new Float32Array(dimensions);
    for (const window of tokenWindows(tokenizer.encode(text).ids)) {
      if (purpose === 'entry') await letQueriesPass();
      addTokens(sum, await lastLayer(window));
    }
    vectors.push(unit(sum));
  }
  return vectors;
}

/** Takes the queries that wait now, not later ones, because entries need their turn too. */
async function letQueriesPass(): Promise<void> {
  // One turn of the event loop, to receive waiting calls.
  await nextTurn();
  await queries;
}

/** A text that is too long for the model is read in parts, each with its own start and end mark. */
function tokenWindows(ids: readonly number[]): number[][] {
  const [start = 0, end = 0] = [ids[0], ids.at(-1)];
  const inner = ids.slice(1, -1);
  const size = maxTokens - 2;
  const count = Math.max(1, Math.ceil(inner.length / size));
  return Array.from({ length: count }, (_, i) => [start, ...inner.slice(i * size, (i + 1) * size), end]);
}

/** A vector for each token in order. */
async function lastLayer(window: readonly number[]): Promise<Float32Array> {
  const rows: Readonly<Record<string, BigInt64Array>> = {
    input_ids: BigInt64Array.from(window, BigInt),
    attention_mask: new BigInt64Array(window.length).fill(1n),
    token_type_ids: new BigInt64Array(window.length),
  };
  // Not every model has all of these inputs.
  const asked = session.inputNames.map((name) => [
    name,
    new Tensor('int64', rows[name] ?? [], [1, window.length]),
  ]);
  const outputs = await session.run(Object.fromEntries(asked));
  const layer = outputs.last_hidden_state?.data;
  if (!(layer instanceof Float32Array)) throw new Error('the model has no last_hidden_state');
  return layer;
}

/** The windows of one text are averaged. */
function addTokens(sum: Float32Array, layer: Float32Array): void {
  for (let at = 0; at < layer.length; at += dimensions) {
    for (let i = 0; i < dimensions; i += 1) sum[i] = (sum[i] ?? 0) + (layer[at + i] ?? 0);
  }
}

function unit(sum: Float32Array): Float32Array {
  const length = Math.sqrt(sum.reduce((total, value) => total + value * value, 0)) || 1;
  return sum.map((value) => value / length);
}
