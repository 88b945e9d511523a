import { randomBytes } from 'node:crypto';
import { type Cancel, within } from '../../base/cancel.ts';
import { GeodeError, isGeodeError, reasonOf } from '../../base/errors.ts';
import type { Process } from '../../seams/process.ts';
import type { Workspace } from '../../seams/sandbox.ts';
import { broken, KernelFrames } from './frames.ts';
import { EndNotifier, type InterpreterEnd, type RunEnd } from './interpreter-end.ts';
import { type KernelSpec, kernelSource } from './languages.ts';
import { type InterpreterOptions, launch, notStarted } from './launch.ts';
import {
  type CheckState,
  type KernelCommand,
  type KernelMessage,
  parseKernelMessage,
  richOf,
} from './messages.ts';
import { type ContextLimits, ResultRecord } from './result.ts';

const startDeadlineMs = 60_000;
const checkDeadlineMs = 30_000;
const nudgeMs = 250;
const slowestNudgeMs = 5_000;
/** An error has no limit of its own; this is more than a kernel ever sends. */
const largestErrorBytes = 4_000_000;

type Kind = 'stdout' | 'stderr';

/** One run, from the interpreter's side: finished when the kernel has reported it on both pipes. */
interface Running {
  readonly run: number;
  readonly waitsFor: Set<Kind>;
  readonly done: () => void;
}

/** The host's side of one interpreter in a sandbox, from start to end. */
export class Interpreter {
  readonly number: number;
  readonly #spec: KernelSpec;
  readonly #process: Process;
  readonly #limits: ContextLimits;
  readonly #exitMs: number;
  readonly #readers: Readonly<Record<Kind, KernelFrames>>;
  readonly #ending: EndNotifier;
  readonly #answers = new Map<string, (message: KernelMessage) => void>();
  #record: ResultRecord;
  #running: Running | undefined;
  #nudging: NodeJS.Timeout | undefined;
  #checks = 0;
  #wasInterrupted = false;
  #violation: GeodeError | undefined;
  #closed = false;
  #written: Promise<void> = Promise.resolve();

  private constructor(
    spec: KernelSpec,
    process: Process,
    token: string,
    { limits, exitMs, number }: InterpreterOptions,
  ) {
    const largestMessageBytes = 2 * limits.resultBytes + largestErrorBytes;
    this.number = number;
    this.#spec = spec;
    this.#process = process;
    this.#limits = limits;
    this.#exitMs = exitMs;
    this.#record = new ResultRecord(limits);
    this.#readers = {
      stdout: new KernelFrames(token, largestMessageBytes),
      stderr: new KernelFrames(token, largestMessageBytes),
    };
    this.#ending = new EndNotifier(this.#follow());
  }

  /** Resolves when it is ready for code; a rejection leaves nothing running. */
  static async start(
    workspace: Workspace,
    spec: KernelSpec,
    options: InterpreterOptions,
    { signal }: Cancel = {},
  ): Promise<Interpreter> {
    const { parts } = await kernelSource(spec);
    const process = await launch(workspace, spec, options, { signal });
    const token = randomBytes(16).toString('hex');
    const interpreter = new Interpreter(spec, process, token, options);
    try {
      const ready = interpreter.#answer('ready', startDeadlineMs, { signal });
      const hello = { token, formLimitBytes: Math.floor(options.limits.resultBytes / 2), parts };
      await Promise.all([ready, interpreter.#write(hello)]);
      return interpreter;
    } catch (error) {
      await interpreter.kill();
      const end = await interpreter.ended;
      const output = interpreter.#record.result({
        status: 'ended',
        exit: null,
        interpreter: 0,
        durationMs: 0,
      });
      if (isGeodeError(error, 'process_not_found') && end.type === 'exit') {
        throw notStarted(
          spec,
          options,
          `it ended before it was ready: ${output.stderr.slice(-2000).trim()}`,
          error,
        );
      }
      throw error;
    }
  }

  get ended(): Promise<InterpreterEnd> {
    return this.#ending.end;
  }

  /** It was ended on request: by a restart, or with its context. */
  get isClosed(): boolean {
    return this.#closed;
  }

  /** Resolves when the code is done, or with the end of the interpreter; never rejects. */
  run(run: number, code: string): { readonly record: ResultRecord; readonly over: Promise<RunEnd> } {
    const record = this.#record;
    this.#wasInterrupted = false;
    const over = Promise.withResolvers<RunEnd>();
    const forget = this.#ending.onEnd(over.resolve);
    this.#running = {
      run,
      waitsFor: new Set(['stdout', 'stderr']),
      done: () => {
        forget();
        over.resolve({ type: 'done', interrupted: this.#wasInterrupted });
      },
    };
    // A failed write means a pipe without a reader: the end of the interpreter has the reason.
    this.#write({ type: 'run', run, code }).catch(() => {});
    return { record, over: over.promise };
  }

  /**
   * Asks the code of this run to stop; the run's end shows whether it did. Commands reach the kernel in order, so it
   * has either started this run or finished it, and no other run is affected. Returns false if the run is over.
   */
  async interrupt(run: number): Promise<boolean> {
    if (this.#running?.run !== run) return false;
    await this.#write({ type: 'interrupt', run });
    this.#nudge(run, nudgeMs);
    return true;
  }

  /** A signal that comes right before a system call does not end it; a later one does. */
  #nudge(run: number, ms: number): void {
    const timer = setTimeout(() => {
      if (this.#running?.run !== run || this.#nudging !== timer) return;
      this.#write({ type: 'nudge' }).then(
        () => this.#nudge(run, Math.min(2 * ms, slowestNudgeMs)),
        () => {},
      );
    }, ms).unref();
    clearTimeout(this.#nudging);
    this.#nudging = timer;
  }

  async check(code: string, options: Cancel = {}): Promise<CheckState> {
    this.#checks += 1;
    const id = this.#checks;
    const [answer] = await Promise.all([
      this.#answer(`checked ${id}`, checkDeadlineMs, options),
      this.#write({ type: 'check', id, code }),
    ]);
    if (answer.type !== 'checked') throw broken('another answer than the one that was due');
    return answer.state;
  }

  /** Lets it exit normally, with exit handlers and flushed files; what is left is killed. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#running === undefined) {
      const closed = this.#answer('closed', this.#exitMs);
      await Promise.all([closed, this.#write({ type: 'close' })]).catch(() => {});
    }
    await this.kill();
    await this.ended;
  }

  /** Kills the interpreter and all its processes. */
  async kill(): Promise<void> {
    await this.#process.kill().catch((error: unknown) => {
      if (!isGeodeError(error, 'process_not_found') && !isGeodeError(error, 'sandbox_gone')) throw error;
    });
  }

  async #follow(): Promise<InterpreterEnd> {
    try {
      for await (const event of this.#process) {
        if (event.type === 'exit') {
          for (const kind of ['stdout', 'stderr'] as const) this.#leftover(kind);
          const { type: _, ...exit } = event;
          return { type: 'exit', exit, violation: this.#violation ?? null };
        }
        if (event.type !== 'output-lost' && this.#violation === undefined)
          this.#read(event.type, event.bytes);
      }
      throw new GeodeError('internal', 'The interpreter ended without an exit record.');
    } catch (error) {
      void this.kill().catch(() => {});
      return {
        type: 'failure',
        error: error instanceof GeodeError ? error : new GeodeError('internal', reasonOf(error)),
      };
    }
  }

  /** A protocol error ends the interpreter; its later messages are ignored. */
  #read(kind: Kind, bytes: Uint8Array): void {
    try {
      for (const piece of this.#readers[kind].read(bytes)) {
        if (piece.type === 'output') this.#record.output(kind, piece.bytes);
        else this.#take(kind, parseKernelMessage(piece.json));
      }
    } catch (error) {
      if (!isGeodeError(error, 'guest_protocol')) throw error;
      this.#violation = error;
      void this.kill().catch(() => {});
    }
  }

  #leftover(kind: Kind): void {
    const bytes = this.#readers[kind].end();
    if (bytes.length > 0) this.#record.output(kind, bytes);
  }

  #take(kind: Kind, message: KernelMessage): void {
    if (message.type === 'done') {
      this.#finish(kind, message.run);
    } else if (message.type === 'display' || message.type === 'value') {
      this.#record.show(richOf(message));
    } else if (message.type === 'error') {
      if (message.run !== this.#running?.run) throw broken('an error of a run that is not in progress');
      const { name, message: text, traceback, interrupted } = message;
      this.#wasInterrupted = interrupted;
      this.#record.fail({ name, message: text, traceback });
    } else {
      const key = message.type === 'checked' ? `checked ${message.id}` : message.type;
      this.#answers.get(key)?.(message);
    }
  }

  #finish(kind: Kind, run: number): void {
    const running = this.#running;
    if (running?.run !== run) throw broken('the end of a run that is not in progress');
    running.waitsFor.delete(kind);
    if (running.waitsFor.size > 0) return;
    this.#running = undefined;
    clearTimeout(this.#nudging);
    // Later output belongs to the next run.
    this.#record = new ResultRecord(this.#limits);
    running.done();
  }

  /** The requested message. Throws `process_not_found` if the interpreter ends first. */
  async #answer(key: string, ms: number, { signal }: Cancel = {}): Promise<KernelMessage> {
    const answer = Promise.withResolvers<KernelMessage>();
    answer.promise.catch(() => {});
    this.#answers.set(key, answer.resolve);
    const forget = this.#ending.onEnd((end) => {
      answer.reject(end.type === 'failure' ? end.error : interpreterGone(this.#spec));
    });
    try {
      const what = `The ${this.#spec.language} interpreter`;
      return await within({ ms, what, signal }, () => answer.promise);
    } finally {
      this.#answers.delete(key);
      forget();
    }
  }

  /** One line at a time: a long one needs several writes, and nothing may come in between. */
  #write(line: KernelCommand | object): Promise<void> {
    const writing = this.#written.then(() => this.#process.write(`${JSON.stringify(line)}\n`));
    this.#written = writing.catch(() => {});
    return writing;
  }
}

function interpreterGone({ language }: KernelSpec): GeodeError {
  return new GeodeError('process_not_found', `The ${language} interpreter has ended.`, {
    hint: 'The next run starts a fresh one.',
  });
}
