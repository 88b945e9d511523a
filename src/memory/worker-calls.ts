/** Calls to a worker thread: each gets an answer; a worker that dies fails its calls and is replaced. */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, Worker } from 'node:worker_threads';
import { GeodeError, reasonOf } from '../base/errors.ts';

/** The calls of a worker: input and output by name. */
export type CallTypes = Record<string, { input: unknown; output: unknown }>;

// `never`: the values that crossed threads have the types of the other side, and only the name tells which.
interface Request {
  readonly call: number;
  /** Null asks the worker to end. */
  readonly name: string | null;
  readonly input: never;
}

interface Response {
  readonly call: number;
  readonly output: never;
  readonly failure?: string;
}

interface Waiting {
  resolve(output: never): void;
  reject(reason: Error): void;
}

/** Maximum time for a worker to finish its call. */
const FINISH_MS = 60_000;

/**
 * Space for new objects. With the default for workers, V8 collects the whole heap far too often: at every fortieth
 * search, for some milliseconds.
 */
const YOUNG = { maxYoungGenerationSizeMb: 6 };

export class WorkerCalls<Calls extends CallTypes> implements AsyncDisposable {
  readonly #script: URL;
  readonly #input: unknown;
  readonly #ending: 'cut off' | 'finish';
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #calls = 0;
  #stopped = false;

  /** `finish` for a worker with native code: terminating that during a call ends the whole process. */
  constructor(script: URL, input: unknown, ending: 'cut off' | 'finish' = 'cut off') {
    this.#script = script;
    this.#input = input;
    this.#ending = ending;
  }

  call<Name extends keyof Calls>(name: Name, input: Calls[Name]['input']): Promise<Calls[Name]['output']> {
    if (this.#stopped) return Promise.reject(new GeodeError('memory_down', 'Memory has been stopped.'));
    this.#worker ??= this.#start();
    const worker = this.#worker;
    this.#calls += 1;
    const call = this.#calls;
    return new Promise<Calls[Name]['output']>((resolve, reject) => {
      this.#waiting.set(call, { resolve, reject });
      // A worker with a call in progress keeps the process alive, an idle one does not.
      worker.ref();
      worker.postMessage({ call, name, input });
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    const worker = this.#worker;
    if (worker === undefined) return;
    if (this.#ending === 'finish') {
      const ended = once(worker, 'exit');
      worker.ref();
      worker.postMessage({ call: 0, name: null });
      await Promise.race([ended, delay(FINISH_MS, undefined, { ref: false })]);
    }
    await worker.terminate();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #start(): Worker {
    const worker = new Worker(this.#script, { workerData: this.#input, resourceLimits: YOUNG });
    let reason = 'its thread ended';
    worker.on('message', ({ call, output, failure }: Response) => {
      const waiting = this.#waiting.get(call);
      this.#waiting.delete(call);
      if (this.#waiting.size === 0 && !this.#stopped) worker.unref();
      if (failure === undefined) waiting?.resolve(output);
      else waiting?.reject(new Error(failure));
    });
    worker.on('error', (error) => {
      reason = reasonOf(error);
    });
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = undefined;
      for (const { reject } of this.#waiting.values()) {
        reject(new GeodeError('memory_down', `A part of memory failed: ${reason}.`));
      }
      this.#waiting.clear();
    });
    worker.unref();
    return worker;
  }
}

/** The worker's side: one handler for each name. */
export function serveCalls<Calls extends CallTypes>(
  handlers: {
    readonly [Name in keyof Calls]: (
      input: Calls[Name]['input'],
    ) => Calls[Name]['output'] | Promise<Calls[Name]['output']>;
  },
): void {
  const byName = new Map<string, (input: never) => unknown>(Object.entries(handlers));
  const underWay = new Set<Promise<void>>();
  const answer = async (call: number, name: string, input: never) => {
    try {
      const handler = byName.get(name);
      if (handler === undefined) throw new Error(`there is no call ${name}`);
      parentPort?.postMessage({ call, output: await handler(input) });
    } catch (thrown) {
      parentPort?.postMessage({ call, failure: reasonOf(thrown) });
    }
  };
  parentPort?.on('message', async ({ call, name, input }: Request) => {
    if (name === null) {
      await Promise.all(underWay);
      parentPort?.close();
      return;
    }
    const answered = answer(call, name, input);
    underWay.add(answered);
    await answered;
    underWay.delete(answered);
  });
}
