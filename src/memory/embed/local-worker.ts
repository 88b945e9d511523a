/** The thread that runs the model: tokens in windows that it can read, the mean of its last layer out. */
import { readFileSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { Tokenizer } from '@huggingface/tokenizers';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { serveCalls } from '../worker-calls.ts';
import type { ModelFiles } from './fetch-model.ts';

export type EmbedCalls = {
  embed: { input: readonly string[]; output: readonly Float32Array[] };
};

export interface EmbedWorkerInput {
  readonly files: ModelFiles;
  readonly dimensions: number;
  readonly maxTokens: number;
  readonly threads: number;
}

const { files, dimensions, maxTokens, threads }: EmbedWorkerInput = workerData;
const tokenizer = new Tokenizer(JSON.parse(readFileSync(files.tokenizer, 'utf8')), {
  tokenizer_class: 'BertTokenizer',
});
const session = InferenceSession.create(files.weights, {
  intraOpNumThreads: threads,
  interOpNumThreads: 1,
  // The arena keeps the largest batch for ever; batches differ too much in size for that.
  enableCpuMemArena: false,
  // Threads that spin while they wait take the cores from everyone else, the next call included.
  extra: { session: { intra_op: { allow_spinning: '0' } } },
});

serveCalls<EmbedCalls>({ embed });

async function embed(texts: readonly string[]): Promise<Float32Array[]> {
  const windows = texts.map((text) => tokenWindows(tokenizer.encode(text).ids));
  const sums = await lastLayerSums(windows.flat());
  let at = 0;
  return windows.map((own) => {
    const mine = sums.slice(at, at + own.length);
    at += own.length;
    return unit(mine);
  });
}

/** A text that is too long for the model is read in parts, each with its own start and end mark. */
function tokenWindows(ids: readonly number[]): number[][] {
  const [start = 0, end = 0] = [ids[0], ids.at(-1)];
  const inner = ids.slice(1, -1);
  const size = maxTokens - 2;
  const count = Math.max(1, Math.ceil(inner.length / size));
  return Array.from({ length: count }, (_, i) => [start, ...inner.slice(i * size, (i + 1) * size), end]);
}

/** For each window the sum of its token vectors: windows of one text add up to their common mean. */
async function lastLayerSums(windows: readonly (readonly number[])[]): Promise<Float32Array[]> {
  const length = Math.max(...windows.map((ids) => ids.length));
  const cells = windows.length * length;
  const ids = new BigInt64Array(cells);
  const mask = new BigInt64Array(cells);
  for (const [row, window] of windows.entries()) {
    for (const [i, id] of window.entries()) {
      ids[row * length + i] = BigInt(id);
      mask[row * length + i] = 1n;
    }
  }
  const shape = [windows.length, length];
  const outputs = await (await session).run({
    input_ids: new Tensor('int64', ids, shape),
    attention_mask: new Tensor('int64', mask, shape),
    token_type_ids: new Tensor('int64', new BigInt64Array(cells), shape),
  });
  const layer = outputs.last_hidden_state?.data;
  if (!(layer instanceof Float32Array)) throw new Error('the model has no last_hidden_state');
  return windows.map((window, row) => {
    const sum = new Float32Array(dimensions);
    for (let token = 0; token < window.length; token += 1) {
      const from = (row * length + token) * dimensions;
      for (let i = 0; i < dimensions; i += 1) sum[i] = (sum[i] ?? 0) + (layer[from + i] ?? 0);
    }
    return sum;
  });
}

function unit(sums: readonly Float32Array[]): Float32Array {
  const total = new Float32Array(dimensions);
  for (const sum of sums) for (let i = 0; i < dimensions; i += 1) total[i] = (total[i] ?? 0) + (sum[i] ?? 0);
  const length = Math.hypot(...total) || 1;
  return total.map((value) => value / length);
}
