import { setTimeout as delay } from 'node:timers/promises';
import { type Cancel, throwIfCancelled, within } from '../base/cancel.ts';
import { GeodeError, isGeodeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { inSpan, type Span, startSpan } from '../base/spans.ts';
import { Backpressure } from '../journals/backpressure.ts';
import type { OpenHatch } from '../seams/egress.ts';
import type { EventSink } from '../seams/events.ts';
import type { SandboxUsage, SpawnOptions } from '../seams/persistent.ts';
import type { Command, ExecOptions, ExecResult, ExitFacts, Process } from '../seams/process.ts';
import type { Runtime } from '../seams/runtime.ts';
import type { Activity, Sandbox } from '../seams/sandbox.ts';
import type { Snapshots } from '../seams/snapshots.ts';
import type { SandboxTools } from '../seams/tools.ts';
import { cannotSave } from './checkpoints/take-checkpoint.ts';
import { endExec, execSpan, noteExit, tracedCommand } from './exec-span.ts';
import { FollowedProcess } from './followed-process.ts';
import { attachedSnapshots } from './snapshots/attached-snapshots.ts';
import { WorkMeter } from './work-meter.ts';

const retryMs = 1_000;
/** A disk that is full for less time than these retries is not reported. */
const patientTries = 3;
const politeMs = 2_000;
const askDeadlineMs = 5_000;
/** A list does not wait longer for the measurement of a sandbox. */
const useDeadlineMs = 100;
const useSpanMs = 1_000;

export interface AttachedOptions {
  readonly events: EventSink;
  readonly log: Log;
  readonly tools: SandboxTools;
}

/**
 * A sandbox that this host holds. Output that nobody waits for is read into the process's journal, so no process
 * blocks for lack of a reader, and readers read the journal.
 */
export class AttachedSandbox {
  readonly sandbox: Sandbox;
  readonly user: string;
  readonly chat: string;
  readonly #events: EventSink;
  readonly #log: Log;
  readonly snapshots: Snapshots | undefined;
  /** Environment variables that show commands where the host's tools are. */
  readonly toolEnv: () => Readonly<Record<string, string>>;
  /** Its hatch, once it is open. */
  hatch: OpenHatch | undefined;
  #pausedSince = Date.now();
  #left = false;
  readonly #work = new WorkMeter();
  #measured = { cpuMs: 0, uptimeMs: 0 };
  readonly #followed = new Map<string, Process>();
  readonly #following = new Set<Promise<void>>();

  constructor(
    sandbox: Sandbox,
    { user, chat }: { readonly user: string; readonly chat: string },
    runtime: Runtime,
    { events, log, tools }: AttachedOptions,
  ) {
    this.sandbox = sandbox;
    this.user = user;
    this.chat = chat;
    this.#events = events;
    this.#log = log.child({ sandbox: sandbox.id });
    this.toolEnv = () => tools.env(sandbox.id);
    this.snapshots = snapshotsIn(sandbox, runtime);
  }

  get paused(): boolean {
    return this.sandbox.freezer?.paused ?? false;
  }

  /** While paused, report no activity. */
  get activity(): Activity {
    const { activity } = this.sandbox;
    return this.paused ? { open: 0, endedAt: Math.max(activity.endedAt, this.#pausedSince) } : activity;
  }

  /** Undefined while it is paused, or if it does not answer at once. */
  async use({ signal }: Cancel): Promise<SandboxUsage | undefined> {
    if (this.paused) return undefined;
    const deadline = { ms: useDeadlineMs, what: 'Measuring the sandbox', signal };
    const now = await within(deadline, (stop) => this.sandbox.metrics({ signal: stop })).catch(
      () => undefined,
    );
    if (now === undefined) return undefined;
    const before = this.#measured;
    const spanMs = now.uptimeMs - before.uptimeMs;
    // Two lists right after each other measure from the same moment.
    if (spanMs >= useSpanMs) this.#measured = now;
    return {
      cpus: Math.max(now.cpuMs - before.cpuMs, 0) / Math.max(spanMs, 1),
      memoryBytes: now.memoryBytes,
      memoryLimit: this.sandbox.limits.memoryBytes ?? null,
    };
  }

  /** For the sweep: looks whether its processes use the CPU. */
  async lookForWork({ signal }: Cancel): Promise<void> {
    if (this.paused) return;
    const { cpuMs } = await this.sandbox.metrics({ signal });
    this.#work.look({ cpuMs, at: Date.now() });
  }

  /** Activity without processes that nobody waits for: while these use no CPU, the sandbox may hibernate. */
  get useByCallers(): Activity {
    const { open, endedAt } = this.activity;
    const waiting = this.paused ? 0 : this.#followed.size;
    return { open: Math.max(open - waiting, 0), endedAt: Math.max(endedAt, this.#work.workedAt) };
  }

  async pause(cancel: Cancel = {}): Promise<void> {
    const { freezer, runtime } = this.sandbox;
    if (freezer === undefined) {
      throw new GeodeError('cannot_enforce', `The ${runtime} runtime cannot pause a sandbox.`, {
        hint: 'Stop it instead; its files are kept.',
      });
    }
    if (!freezer.paused) this.#pausedSince = Date.now();
    await freezer.pause(cancel);
  }

  /** Continues the processes of an earlier host, or resumes after a pause. */
  async resume(cancel: Cancel = {}): Promise<void> {
    if (this.paused) await this.sandbox.freezer?.resume(cancel);
    const { processes } = await this.sandbox.processes(cancel);
    const strange = processes.filter(({ id }) => !this.#followed.has(id));
    for (const { id, argv, startedAt } of strange) this.sandbox.journals.open(id).begin({ argv, startedAt });
    await Promise.all(strange.map(({ id }) => this.#join(id, cancel)));
  }

  async spawn(command: Command, { inStep = false, ...cancel }: SpawnOptions = {}): Promise<Process> {
    const span = startSpan(...execSpan(this.sandbox, command));
    const process = await this.sandbox.spawn(tracedCommand(command, span), cancel).catch((error) => {
      endExec(span, error);
      throw error;
    });
    span?.set({ 'geode.process.id': process.id });
    const program = command.argv[0] ?? '';
    this.#events.emit(this.user, { type: 'process-start', process: process.id, program, ...this.#named });
    const backpressure = inStep ? new Backpressure() : undefined;
    this.#follow(process, backpressure, span);
    return this.#handleOf(process.id, process.pid, 0, backpressure);
  }

  async attach(processId: string, options: { readonly from?: number } & Cancel = {}): Promise<Process> {
    const followed = this.#followed.get(processId);
    const { from = 0 } = options;
    if (followed === undefined || !Number.isSafeInteger(from) || from < 0) {
      return this.sandbox.attach(processId, options);
    }
    return this.#handleOf(processId, followed.pid, from);
  }

  /**
   * Whether anything runs in it, asked of the sandbox itself: includes processes that nobody follows or that were
   * disowned. False if the sandbox no longer answers.
   */
  async isWorking({ signal }: Cancel = {}): Promise<boolean> {
    if (this.paused) return false;
    const asking = within({ ms: askDeadlineMs, what: 'Checking what runs', signal }, async (stop) => {
      const { processes, disowned } = await this.sandbox.processes({ signal: stop });
      return disowned.length > 0 || processes.some(({ state }) => state === 'running');
    });
    return asking.catch((error) => {
      throwIfCancelled(signal, 'The sweep');
      if (isGeodeError(error, 'timed_out')) return false;
      throw error;
    });
  }

  /** Commands with a waiting caller. Their process becomes known only at their end. */
  async exec(command: Command, options: ExecOptions = {}): Promise<ExecResult> {
    return inSpan(...execSpan(this.sandbox, command), async (span) => {
      const result = await this.sandbox.exec(tracedCommand(command, span), options);
      span?.set({ 'geode.process.id': result.processId });
      noteExit(span, result);
      this.#tellExit(result.processId, result);
      return result;
    });
  }

  /** Detaches on purpose; the sandbox continues. */
  async release(): Promise<void> {
    this.#left = true;
    await this.sandbox.release();
  }

  /** It ended without a request from here. */
  get endedByItself(): boolean {
    return this.sandbox.end !== undefined && !this.#left;
  }

  /** Processes get SIGTERM before SIGKILL, and their last output is stored. */
  async halt(): Promise<void> {
    this.#left = true;
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (this.sandbox.end !== undefined || !(await this.#signalAll(signal))) break;
      await Promise.race([Promise.all(this.#following), delay(politeMs, undefined, { ref: false })]);
    }
    await this.sandbox.halt();
  }

  /** Saves its memory and ends it, with every process as it is. A failure before the end leaves it running. */
  async hibernate(cancel: Cancel): Promise<void> {
    const { checkpoints, runtime } = this.sandbox;
    if (checkpoints === undefined) throw cannotSave(runtime);
    this.#left = true;
    try {
      await checkpoints.hibernate(cancel);
    } finally {
      this.#left = this.sandbox.end !== undefined;
    }
  }

  /** False if nothing runs any more or nothing answers. */
  async #signalAll(name: 'SIGTERM' | 'SIGKILL'): Promise<boolean> {
    const asking = within({ ms: askDeadlineMs, what: 'Ending the processes' }, async (signal) => {
      const { processes } = await this.sandbox.processes({ signal });
      const running = processes.filter(({ state }) => state === 'running');
      await Promise.all(running.map(({ id }) => this.sandbox.signal(id, name, { tree: true, signal })));
      return running.length > 0;
    });
    return asking.catch(() => false);
  }

  get #named() {
    return { sandbox: this.sandbox.id, chat: this.chat };
  }

  #tellExit(process: string, { exitCode, signal, timedOut, oomKilled, durationMs }: ExitFacts): void {
    const facts = { exitCode, signal, timedOut, oomKilled, durationMs };
    this.#events.emit(this.user, { type: 'process-exit', process, ...facts, ...this.#named });
  }

  #handleOf(id: string, pid: number, from: number, backpressure?: Backpressure): Process {
    return new FollowedProcess({
      id,
      pid,
      from,
      journal: this.sandbox.journals.open(id),
      live: () => this.#followed.get(id),
      backpressure,
    });
  }

  async #join(id: string, cancel: Cancel): Promise<void> {
    this.#follow(await this.#attachAtEnd(id, cancel));
  }

  #attachAtEnd(id: string, cancel: Cancel): Promise<Process> {
    return this.sandbox.attach(id, { from: this.sandbox.journals.open(id).length, ...cancel });
  }

  #follow(process: Process, backpressure?: Backpressure, span?: Span): void {
    this.#followed.set(process.id, process);
    const following = this.#readToEnd(process, backpressure, span).finally(() => {
      span?.end();
      this.#following.delete(following);
      this.#followed.delete(process.id);
    });
    this.#following.add(following);
  }

  /**
   * Waits while the disk is full: the process blocks and loses nothing. If the disk stays full, followers get an
   * error.
   */
  async #readToEnd(process: Process, backpressure?: Backpressure, span?: Span): Promise<void> {
    let tries = 0;
    for (let current = process; ; ) {
      try {
        for await (const event of current) {
          tries = 0;
          if (event.type === 'exit') {
            noteExit(span, event);
            this.#tellExit(process.id, event);
          } else await backpressure?.writtenTo(event.offset);
        }
        return;
      } catch (error) {
        // Followers notice the end because the journals are closed.
        if (this.sandbox.end !== undefined) return this.sandbox.release();
        if (!isGeodeError(error, 'disk_full')) {
          this.#log.warn({ err: error, process: process.id }, 'A process is no longer followed');
          return;
        }
        tries += 1;
        if (tries >= patientTries) this.sandbox.journals.open(process.id).interrupt(error);
      }
      await delay(retryMs, undefined, { ref: false });
      current = await this.#attachAtEnd(process.id, {}).catch(() => current);
      this.#followed.set(process.id, current);
    }
  }
}

function snapshotsIn(sandbox: Sandbox, { workspaces }: Runtime): Snapshots | undefined {
  return workspaces && attachedSnapshots(sandbox, () => workspaces.hold(sandbox.id));
}
