import { randomBytes } from 'node:crypto';
import { posix } from 'node:path';
import type { Duplex } from 'node:stream';
import { z } from 'zod';
import { type Cancel, cancelled, throwIfCancelled } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import { attachProcess } from '../link/attach.ts';
import { guestCommand, timeoutOf } from '../link/command.ts';
import { guestFiles } from '../link/files.ts';
import { followToEnd, silent } from '../link/follow-to-end.ts';
import { GuestHatch } from '../link/hatch.ts';
import type { Link } from '../link/link.ts';
import { ProcessStream, signalProcess } from '../link/process-stream.ts';
import { metricsSchema, processListSchema } from '../link/schemas.ts';
import { GuestTools } from '../link/tools.ts';
import { upload } from '../link/upload.ts';
import type { Checkpoints } from '../seams/checkpoints.ts';
import { OutputCollector } from '../seams/collect-output.ts';
import type { Hatch } from '../seams/egress.ts';
import type { Files } from '../seams/files.ts';
import type { Journals } from '../seams/journal.ts';
import type { Limits, SoftLimit } from '../seams/limits.ts';
import type { Command, ExecOptions, ExecResult, Process, ProcessList, SignalName } from '../seams/process.ts';
import type { RuntimeName } from '../seams/runtime.ts';
import type { Activity, Freezer, Grade, Metrics, Sandbox } from '../seams/sandbox.ts';
import type { ToolDoor } from '../seams/tools.ts';
import type { RoomCheckpoints } from './room-memory.ts';

const defaultOutputLimit = 10 * 1000 ** 2;

/** The parts that a runtime passes on once its guest has answered. */
export interface OpenRoom {
  readonly id: string;
  readonly runtime: RuntimeName;
  readonly grade: Grade;
  readonly limits: Limits;
  readonly softLimits: readonly SoftLimit[];
  readonly workdir: string;
  readonly scratch: string;
  readonly env: Readonly<Record<string, string>>;
  readonly link: Link;
  readonly freezer: Freezer | undefined;
  readonly isCopy: boolean;
  readonly checkpoints: RoomCheckpoints | undefined;
  readonly journals: Journals;
  /** Ends the walls and keeps the folders. */
  readonly halt: () => Promise<void>;
  /** Ends the room: processes, container, folders. */
  readonly tearDown: () => Promise<void>;
}

/** The sandbox of every runtime: the same protocol with a guest, for any kind of walls. */
export class GuestSandbox implements Sandbox {
  readonly files: Files;
  readonly rootFiles: Files;
  readonly freezer?: Freezer;
  readonly checkpoints?: Checkpoints;
  readonly hatch: Hatch;
  readonly tools: ToolDoor;
  readonly #room: OpenRoom;
  #stopping: Promise<void> | undefined;

  constructor(room: OpenRoom) {
    this.#room = room;
    this.files = guestFiles(room.link, 'workspace');
    this.rootFiles = guestFiles(room.link, 'sandbox');
    if (room.freezer !== undefined) this.freezer = room.freezer;
    const { checkpoints } = room;
    if (checkpoints !== undefined) {
      this.checkpoints = {
        save: checkpoints.save,
        hibernate: (cancel) => checkpoints.hibernate(() => this.release(this.#ended('hibernated')), cancel),
      };
    }
    this.hatch = new GuestHatch(room.link, posix.join(room.scratch, '.hatch'));
    this.tools = new GuestTools(room.link, posix.join(room.scratch, '.geode-mcp'));
  }

  get id(): string {
    return this.#room.id;
  }
  get runtime(): RuntimeName {
    return this.#room.runtime;
  }
  get grade(): Grade {
    return this.#room.grade;
  }
  get limits(): Limits {
    return this.#room.limits;
  }
  get softLimits(): readonly SoftLimit[] {
    return this.#room.softLimits;
  }
  get workdir(): string {
    return this.#room.workdir;
  }
  get scratch(): string {
    return this.#room.scratch;
  }
  get env(): Readonly<Record<string, string>> {
    return this.#room.env;
  }
  get journals(): Journals {
    return this.#room.journals;
  }
  get isCopy(): boolean {
    return this.#room.isCopy;
  }
  get end(): GeodeError | undefined {
    return this.#room.link.end;
  }
  get activity(): Activity {
    return this.#room.link.activity;
  }

  async exec(command: Command, options: ExecOptions = {}): Promise<ExecResult> {
    const { signal, outputLimitBytes = defaultOutputLimit } = options;
    const startedAt = Date.now();
    const process = await this.#start(command, { signal });
    const collector = new OutputCollector(outputLimitBytes);
    await followToEnd(process, (event) => collector.add(event), { timeoutMs: timeoutOf(command), signal });
    if (signal?.aborted) throw cancelled(`The command ${JSON.stringify(command.argv[0])}`, signal.reason);
    const result = collector.result(process.id);
    if (result === undefined) throw silent(process.id);
    const denied = this.hatch.denials(startedAt);
    return denied.length === 0 ? result : { ...result, denied };
  }

  spawn(command: Command, options: Cancel = {}): Promise<Process> {
    return this.#start(command, options);
  }

  async #start(command: Command, { signal }: Cancel): Promise<ProcessStream> {
    throwIfCancelled(signal, 'Starting a command');
    const spec = guestCommand(newProcessId(), command);
    const journal = this.#room.journals.open(spec.id);
    const process = await ProcessStream.start(this.#room.link, spec, journal, { signal });
    journal.begin({ argv: command.argv, startedAt: Date.now() });
    if (command.stdin !== undefined) void feedStdin(this.#room.link, process, command);
    return process;
  }

  async prepare(command: Command, { signal }: Cancel = {}): Promise<void> {
    throwIfCancelled(signal, 'Preparing a command');
    const body = guestCommand(newProcessId(), { ...command, interactive: true });
    await this.#room.link.call('POST', '/v1/prepared', z.unknown(), { body, signal });
  }

  processes(options: Cancel = {}): Promise<ProcessList> {
    return this.#room.link.call('GET', '/v1/processes', processListSchema, { ...options, quiet: true });
  }

  attach(processId: string, { from = 0, signal }: { from?: number } & Cancel = {}): Promise<Process> {
    return attachProcess(this.#room.link, this.#room.journals, processId, from, { signal });
  }

  async signal(
    processId: string,
    name: SignalName,
    { tree = false, signal }: { tree?: boolean } & Cancel = {},
  ) {
    await signalProcess(this.#room.link, processId, name, tree, { signal });
  }

  async tunnel(port: number, { signal }: Cancel = {}): Promise<Duplex> {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      throw new GeodeError('invalid_input', `${port} is not a port: use a whole number from 1 to 65535.`);
    }
    const session = await this.#room.link.session({ signal });
    const stream = this.#room.link.stream(session, 'POST', `/v1/tunnel?port=${port}`, signal);
    try {
      await this.#room.link.answer(stream, { signal });
      return stream;
    } catch (error) {
      stream.destroy();
      throw error;
    }
  }

  async metrics(options: Cancel = {}): Promise<Metrics> {
    const quiet = { ...options, quiet: true };
    const { disk, ...rest } = await this.#room.link.call('GET', '/v1/metrics', metricsSchema, quiet);
    if (disk === null || this.limits.diskBytes == null) return { ...rest, disk: null };
    return { ...rest, disk: { usedBytes: disk.usedBytes, limitBytes: disk.totalBytes } };
  }

  ping(options: Cancel = {}): Promise<void> {
    return this.#room.link.ping(options);
  }

  async release(reason?: GeodeError): Promise<void> {
    await this.#room.link.close(reason);
    this.#room.journals.close();
  }

  async halt(): Promise<void> {
    await this.release(this.#ended('stopped'));
    await this.#room.halt();
  }

  #ended(how: 'stopped' | 'hibernated'): GeodeError {
    return new GeodeError('sandbox_stopped', `The sandbox ${this.id} was ${how}.`);
  }

  /** A stop that failed because the engine was away can be tried again. */
  stop(): Promise<void> {
    this.#stopping ??= this.#end().catch((error) => {
      this.#stopping = undefined;
      throw error;
    });
    return this.#stopping;
  }

  async #end(): Promise<void> {
    await this.release();
    await this.#room.tearDown();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/** No leading dash: people type it after a command, where it would be an option. */
function newProcessId(): string {
  return randomBytes(9).toString('base64url').replace(/^-/, '0');
}

/** A command may exit without reading all of its stdin; unread input is not an error. */
async function feedStdin(
  link: Link,
  process: Process,
  { stdin = '', interactive = false }: Command,
): Promise<void> {
  // A separate stream: behind unread stdin, the acks of its output would wait too.
  const target = `/v1/processes/${process.id}/stdin?end=${!interactive}`;
  await upload(link, 'POST', target, stdin).catch(() => {});
}
