/** A model in ONNX Runtime. Loads native code: only for a thread that is never terminated by force. */
import { createRequire } from 'node:module';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';
import { type InferenceSession, Tensor } from 'onnxruntime-common';

/** The native functions that the library's own Node wrapper calls. */
interface Binding {
  initOrtOnce(logLevel: number, tensor: typeof Tensor, isMainThread: boolean): void;
  readonly InferenceSession: new () => NativeSession;
}

interface NativeSession {
  loadModel(path: string, options: InferenceSession.SessionOptions): void;
  readonly inputMetadata: readonly { readonly name: string }[];
  readonly outputMetadata: readonly { readonly name: string }[];
  run(
    feeds: Readonly<Record<string, Tensor>>,
    fetches: Readonly<Record<string, null>>,
    options: InferenceSession.RunOptions,
  ): Readonly<Record<string, Tensor>>;
}

const WARNINGS = 2;

export class OnnxSession {
  readonly inputNames: readonly string[];
  readonly #session: NativeSession;
  readonly #outputs: Readonly<Record<string, null>>;

  /** `library` is the path of the binding. */
  constructor(library: string, weights: string, options: InferenceSession.SessionOptions) {
    const binding: Binding = createRequire(import.meta.url)(library);
    binding.initOrtOnce(WARNINGS, Tensor, isMainThread);
    this.#session = new binding.InferenceSession();
    this.#session.loadModel(weights, options);
    this.inputNames = this.#session.inputMetadata.map(({ name }) => name);
    this.#outputs = Object.fromEntries(this.#session.outputMetadata.map(({ name }) => [name, null]));
  }

  /** Lets other calls in: the thread is blocked for one run only. */
  async run(feeds: Readonly<Record<string, Tensor>>): Promise<Readonly<Record<string, Tensor>>> {
    await nextTurn();
    return this.#session.run(feeds, this.#outputs, {});
  }
}
