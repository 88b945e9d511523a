import { createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { App } from '../../app.ts';
import type { LoadedConfig } from '../../config/load.ts';
import type { Sandboxes } from '../../core/persistent.ts';
import { listenAt } from '../../host/host-socket.ts';
import type { OpenedSolves } from '../../solve/open-solves.ts';
import type { CliCommand, CliContext } from '../command.ts';
import { pullOf } from '../hosting.ts';
import { perform } from '../perform.ts';
import { type Asking, asking } from './asking.ts';
import { FarStreams } from './far-streams.ts';
import {
  type CommandRequest,
  differenceFrom,
  parseRequest,
  type Refusal,
  settingsOf,
  sizeSchema,
} from './request.ts';
import { type Frame, Wire } from './wire.ts';

/** A connection that does not say what it wants is closed after that long. */
const requestDeadlineMs = 30_000;
/** Commands that are told to end are waited for that long: less than whoever ends a host waits before it kills. */
const endDeadlineMs = 5_000;

export interface CommandServerOptions extends Pick<CliContext, 'host' | 'commands'> {
  readonly loaded: LoadedConfig;
  readonly app: App;
  readonly sandboxes: Sandboxes;
  readonly solves: OpenedSolves;
  /** It makes room for another when it has nothing to do. */
  readonly yields: boolean;
}

/** Runs the commands of other processes of this user, each as if it ran where it was typed. */
export class CommandServer implements AsyncDisposable {
  readonly #options: CommandServerOptions;
  readonly #server = createServer();
  readonly #running = new Map<Promise<void>, AbortController>();
  readonly #connections = new Set<Socket>();
  /** Whose command was accepted: who only asks keeps nobody from making room. */
  readonly #accepted = new Set<Wire>();
  #idleSince = performance.now();
  #leaving = false;

  constructor(options: CommandServerOptions) {
    this.#options = options;
    this.#server.on('connection', (socket) => this.#welcome(socket));
  }

  listen(path: string): Promise<void> {
    return listenAt(path, this.#server);
  }

  /** For how long nobody has been here. */
  get idleMs(): number {
    return this.#connections.size > 0 ? 0 : performance.now() - this.#idleSince;
  }

  /** It takes no more commands. */
  get isLeaving(): boolean {
    return this.#leaving;
  }

  /** It takes no more commands and has none. */
  get hasLeft(): boolean {
    return this.#leaving && this.#connections.size === 0;
  }

  /** Who comes from now on is sent away, unharmed; refused while somebody is here. */
  leave(): void {
    if (this.#connections.size === 0) this.#leaving = true;
  }

  /** What runs here is told to end as by SIGTERM: it leaves what it follows, which goes on. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#leaving = true;
    if (this.#server.listening) this.#server.close();
    for (const interrupt of this.#running.values()) interrupt.abort('SIGTERM');
    // Each is gone when the other end has heard its exit code.
    const gone = [...this.#connections].map(
      (socket) => new Promise((resolve) => socket.once('close', resolve)),
    );
    await Promise.race([
      Promise.all([...this.#running.keys(), ...gone]),
      delay(endDeadlineMs, undefined, { ref: false }),
    ]);
    for (const socket of this.#connections) socket.destroy();
  }

  #welcome(socket: Socket): void {
    this.#connections.add(socket);
    socket.once('close', () => {
      this.#connections.delete(socket);
      this.#idleSince = performance.now();
    });
    const interrupt = new AbortController();
    const wire = new Wire(socket);
    const serving = this.#serve(wire, interrupt)
      .catch(() => void socket.destroy())
      .finally(() => {
        this.#running.delete(serving);
        this.#accepted.delete(wire);
      });
    this.#running.set(serving, interrupt);
  }

  async #serve(wire: Wire, interrupt: AbortController): Promise<void> {
    const frames = wire.frames();
    const late = setTimeout(() => wire[Symbol.dispose](), requestDeadlineMs);
    const request = await this.#agree(wire, frames).finally(() => clearTimeout(late));
    const command = this.#options.commands.find(
      ({ name, host }) => name === request?.command && host !== undefined,
    );
    if (request === undefined || command === undefined) return wire.end();
    const streams = new FarStreams(wire, request);
    obey(frames, streams, interrupt).catch(() => {});
    const code = await this.#run(command, request, streams, interrupt.signal);
    await streams.flush();
    wire.sendJson('exit', code);
    wire.end();
  }

  /** Undefined when it is refused, or is not wanted any more. */
  async #agree(wire: Wire, frames: AsyncGenerator<Frame>): Promise<CommandRequest | undefined> {
    const first = await frames.next();
    if (first.done || first.value.kind !== 'request') return undefined;
    const request = parseRequest(first.value.bytes);
    const refusal = this.#refusalOf(request);
    if (request === undefined || refusal !== undefined) {
      wire.sendJson('refused', refusal);
      return undefined;
    }
    this.#accepted.add(wire);
    wire.send('accepted');
    const second = await frames.next();
    return !second.done && second.value.kind === 'go' ? request : undefined;
  }

  #refusalOf(request: CommandRequest | undefined): Refusal | undefined {
    if (this.#leaving) return { reason: 'is about to end', leaves: true };
    const reason = differenceFrom(request, settingsOf(this.#options.loaded.config));
    if (reason === undefined) return undefined;
    this.#leaving = this.#options.yields && this.#accepted.size === 0;
    return { reason, leaves: this.#leaving };
  }

  async #run(
    command: CliCommand,
    { argv, cwd, umask, variables, colours }: CommandRequest,
    streams: FarStreams,
    signal: AbortSignal,
  ): Promise<number> {
    const { host, commands, loaded, app, sandboxes, solves } = this.#options;
    const asked: Asking = { isOver: false, warn: (message) => streams.stderr.write(`warning: ${message}\n`) };
    const hosted = (context: Pick<CliContext, 'json' | 'streams'>) => {
      asked.pull = pullOf(context);
      return { sandboxes, solves, pull: asked.pull };
    };
    const typedAt = { ...host, umask, variable: (name: string) => variables[name] };
    return asking
      .run(asked, () =>
        perform(command, argv, {
          streams,
          host: typedAt,
          cwd,
          colours,
          signal,
          commands,
          within: { loaded, app, hosted },
        }),
      )
      .finally(() => {
        asked.isOver = true;
      });
  }
}

/** Whoever is gone has hung up. */
async function obey(
  frames: AsyncGenerator<Frame>,
  { stdin, stdout }: FarStreams,
  interrupt: AbortController,
) {
  try {
    for await (const { kind, bytes } of frames) {
      if (kind === 'input') stdin.push(bytes);
      else if (kind === 'input-end') stdin.push(null);
      else if (kind === 'input-failed') stdin.destroy(new Error(bytes.toString()));
      else if (kind === 'resize') stdout.setSize(sizeSchema.parse(JSON.parse(bytes.toString())));
      else if (kind === 'signal') interrupt.abort(bytes.toString());
    }
  } finally {
    interrupt.abort('SIGHUP');
    stdin.destroy(new Error('Who typed the command is gone.'));
  }
}
