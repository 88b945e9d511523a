import { type Cancel, cancelled } from '../../base/cancel.ts';
import { GeodeError } from '../../base/errors.ts';
import { Turns } from '../../base/turns.ts';
import type { ContextLanguage } from '../../seams/run.ts';
import type { Workspace } from '../../seams/sandbox.ts';
import { Interpreter } from './interpreter.ts';
import type { RunEnd } from './interpreter-end.ts';
import { type KernelSpec, kernelSpec } from './languages.ts';
import type { InterpreterOptions } from './launch.ts';
import type { CheckState } from './messages.ts';
import type { ContextError, ContextEvent, ContextResult, ContextStatus, ResultRecord } from './result.ts';
import { type Stop, settlesWithin, stopOf } from './stop.ts';

export interface ContextOptions extends Omit<InterpreterOptions, 'limits' | 'number' | 'exitMs'>, Cancel {
  /** Bytes of stdout and of stderr to store per run; the rest is only counted. Default 10 MB each. */
  readonly outputLimitBytes?: number;
  /** Bytes of rich results to store per run; further results are only counted. Default 20 MB. */
  readonly resultLimitBytes?: number;
  /** Grace period of interrupted code before its interpreter is killed. Default 2 s. */
  readonly graceMs?: number;
  /** Time for exit handlers when the interpreter is closed or restarted; then it is killed. Default 10 s. */
  readonly exitMs?: number;
}

export interface ContextRunOptions extends Cancel {
  /** Afterwards the code is interrupted, and killed after the grace period. Default 60 s; `null`: no limit. */
  readonly timeoutMs?: number | null;
  /** Receives output, results and the error as they arrive. */
  readonly onEvent?: (event: ContextEvent) => void;
}

/** The result of an interrupt: nothing was running, the code stopped, or it ignored the interrupt. */
type InterruptOutcome = 'idle' | 'stopped' | 'ignored';

/**
 * An interpreter that keeps its variables, imports and functions between runs. Runs of one context go one after the
 * other, in call order; many contexts run at once. If the interpreter ends, by itself or by force, the current run
 * reports it and the next one starts a fresh interpreter.
 */
export interface Context extends AsyncDisposable {
  readonly language: ContextLanguage;
  /** Code that raises is a result. A cancel stops the code first, then rejects with `cancelled`. */
  run(code: string, options?: ContextRunOptions): Promise<ContextResult>;
  /**
   * Stops the current or next run; variables stay. Resolves when it has stopped, or after the grace period with
   * `ignored`. Applies to that run only: if it has just ended, nothing happens.
   */
  interrupt(): Promise<InterruptOutcome>;
  /** Starts a fresh interpreter now. A run in progress is ended and rejects with `cancelled`. */
  restart(options?: Cancel): Promise<void>;
  /** Whether code is complete, for a terminal that reads it line by line. Waits for its turn like a run. */
  check(code: string, options?: Cancel): Promise<CheckState>;
  /** Ends the interpreter and all its processes. Idempotent; waiting runs are rejected. */
  close(): Promise<void>;
}

/** A run that was passed to its interpreter. */
interface Begun {
  readonly interpreter: Interpreter;
  readonly run: number;
  readonly over: Promise<RunEnd>;
}

const defaultTimeoutMs = 60_000;
const defaultOutputBytes = 10_000_000;
const defaultResultBytes = 20_000_000;
const defaultGraceMs = 2_000;
const defaultExitMs = 10_000;
const largestCode = 16 * 1024 ** 2;

/** Starts the interpreter in the sandbox. Throws `spawn_failed` if the sandbox has none. */
export async function openContext(
  workspace: Workspace,
  language: ContextLanguage,
  {
    outputLimitBytes,
    resultLimitBytes,
    graceMs = defaultGraceMs,
    exitMs = defaultExitMs,
    signal,
    ...options
  }: ContextOptions = {},
): Promise<Context> {
  const limits = {
    outputBytes: outputLimitBytes ?? defaultOutputBytes,
    resultBytes: resultLimitBytes ?? defaultResultBytes,
  };
  const context = new LiveContext(workspace, kernelSpec(language), { ...options, exitMs, limits }, graceMs);
  await context.restart({ signal });
  return context;
}

class LiveContext implements Context {
  readonly language: ContextLanguage;
  readonly #start: (number: number, cancel: Cancel) => Promise<Interpreter>;
  readonly #graceMs: number;
  readonly #turns = new Turns();
  /** Unfinished runs in order: the first one runs now or is about to. */
  readonly #asked = new Set<Promise<Begun | undefined>>();
  #interpreter: Promise<Interpreter> | undefined;
  #interpreters = 0;
  #runs = 0;
  #closed = false;

  constructor(
    workspace: Workspace,
    spec: KernelSpec,
    options: Omit<InterpreterOptions, 'number'>,
    graceMs: number,
  ) {
    this.language = spec.language;
    this.#graceMs = graceMs;
    this.#start = (number, cancel) => Interpreter.start(workspace, spec, { ...options, number }, cancel);
  }

  async run(code: string, options: ContextRunOptions = {}): Promise<ContextResult> {
    if (code.length > largestCode) {
      throw new GeodeError(
        'too_large',
        `The code has ${code.length} characters; the maximum is ${largestCode}.`,
      );
    }
    const beginning = Promise.withResolvers<Begun | undefined>();
    this.#asked.add(beginning.promise);
    let turn: Disposable | undefined;
    try {
      turn = await this.#turns.take({ what: `The ${this.language} run`, signal: options.signal });
      return await this.#runIn(await this.#ready(options), code, options, beginning.resolve);
    } finally {
      beginning.resolve(undefined);
      this.#asked.delete(beginning.promise);
      turn?.[Symbol.dispose]();
    }
  }

  async interrupt(): Promise<InterruptOutcome> {
    const [first] = this.#asked;
    const begun = await first;
    if (begun === undefined || !(await begun.interpreter.interrupt(begun.run))) return 'idle';
    return (await settlesWithin(begun.over, this.#graceMs)) ? 'stopped' : 'ignored';
  }

  async restart(options: Cancel = {}): Promise<void> {
    this.#refuseIfClosed();
    await this.#begin(options, this.#interpreter);
  }

  async check(code: string, options: Cancel = {}): Promise<CheckState> {
    const check = async () => (await this.#ready(options)).check(code, options);
    return this.#turns.in(check, { what: 'The check', signal: options.signal });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#end(this.#interpreter);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #runIn(
    interpreter: Interpreter,
    code: string,
    { timeoutMs = defaultTimeoutMs, onEvent, signal }: ContextRunOptions,
    onBegin: (begun: Begun) => void,
  ): Promise<ContextResult> {
    this.#runs += 1;
    const run = this.#runs;
    const begun = performance.now();
    const { record, over } = interpreter.run(run, code);
    onBegin({ interpreter, run, over });
    const listening = onEvent === undefined ? undefined : listenTo(record, onEvent);
    const stop = await stopOf(over, timeoutMs, signal);
    if (stop !== undefined) await this.#stop({ interpreter, run, over });
    const end = await over;
    if (stop === 'cancelled') throw cancelled(`The ${this.language} run`, signal?.reason);
    if (end.type !== 'done' && interpreter.isClosed) {
      throw cancelled(`The ${this.language} run, by a restart or the end of its context,`);
    }
    if (end.type === 'failure') throw end.error;
    listening?.rethrow();
    if (end.type === 'exit' && end.violation !== null) record.fail(tampered(end.violation));
    return record.result({
      status: statusOf(stop, end, record),
      exit: end.type === 'exit' ? end.exit : null,
      interpreter: interpreter.number,
      durationMs: performance.now() - begun,
    });
  }

  /** An interrupt first; code that ignores it loses its interpreter. */
  async #stop({ interpreter, run, over }: Begun): Promise<void> {
    interpreter.interrupt(run).catch(() => {});
    if (!(await settlesWithin(over, this.#graceMs))) await interpreter.kill();
  }

  async #ready(options: Cancel): Promise<Interpreter> {
    this.#refuseIfClosed();
    return this.#interpreter ?? this.#begin(options, undefined);
  }

  /** Replaces the interpreter. If the new one ends or cannot start, the place is free again. */
  #begin(options: Cancel, old: Promise<Interpreter> | undefined): Promise<Interpreter> {
    const leave = () => {
      if (this.#interpreter === beginning) this.#interpreter = undefined;
    };
    const beginning = this.#end(old).then(async () => {
      this.#interpreters += 1;
      const interpreter = await this.#start(this.#interpreters, options);
      void interpreter.ended.then(leave);
      return interpreter;
    });
    this.#interpreter = beginning;
    beginning.catch(leave);
    return beginning;
  }

  async #end(interpreter: Promise<Interpreter> | undefined): Promise<void> {
    const begun = await interpreter?.catch(() => undefined);
    await begun?.close();
  }

  #refuseIfClosed(): void {
    if (!this.#closed) return;
    throw new GeodeError('process_not_found', `The ${this.language} context is closed.`, {
      hint: 'Open a new context.',
    });
  }
}

/** An error thrown by a listener goes to its caller, not to the interpreter. */
function listenTo(record: ResultRecord, onEvent: (event: ContextEvent) => void): { rethrow(): void } {
  const thrown: unknown[] = [];
  record.listen((event) => {
    try {
      onEvent(event);
    } catch (error) {
      thrown.push(error);
    }
  });
  return {
    rethrow() {
      if (thrown.length > 0) throw thrown[0];
    },
  };
}

function statusOf(stop: Stop | undefined, end: RunEnd, record: ResultRecord): ContextStatus {
  if (stop === 'timed-out') return 'timed-out';
  if (end.type !== 'done') return 'ended';
  if (end.interrupted) return 'interrupted';
  return record.error === null ? 'done' : 'failed';
}

function tampered({ message, hint }: GeodeError): ContextError {
  return { name: 'ProtocolViolation', message, traceback: `${message} ${hint}` };
}
