/** A server of the operator: started when needed, and restarted after it ended, with growing pauses. */
import { Client, type Transport } from '@modelcontextprotocol/client';
import { type Cancel, within } from '../../base/cancel.ts';
import { GeodeError, isGeodeError, reasonOf } from '../../base/errors.ts';
import type { Log } from '../../base/log.ts';
import type { ToolServerStatus } from '../../seams/tools.ts';
import { acceptsAll, type OfferedTool, offeredTools } from './offered-tool.ts';

/** A started server. Its opener disposes of it. */
export interface OpenedServer extends AsyncDisposable {
  readonly transport: Transport;
  /** The last lines that the server wrote to stderr. */
  lastWords(): string;
}

export interface ExternalServerOptions {
  readonly name: string;
  readonly version: string;
  readonly open: (options: Cancel) => Promise<OpenedServer>;
  /** The tools that it may offer; undefined: all. */
  readonly allowed: readonly string[] | undefined;
  readonly startTimeoutMs: number;
  readonly callTimeoutMs: number;
  readonly log: Log;
  /** Called when its list of tools changed. */
  readonly onChange: () => void;
  readonly clock?: () => number;
}

const firstPauseMs = 1_000;
const longestPauseMs = 60_000;
/** After running this long, a server restarts with short pauses again. */
const steadyMs = 60_000;
const mostPages = 20;

interface Live extends AsyncDisposable {
  readonly client: Client;
  readonly since: number;
}

export class ExternalServer implements AsyncDisposable {
  readonly name: string;
  readonly #options: ExternalServerOptions;
  readonly #now: () => number;
  readonly #closing = new AbortController();
  #live: Live | undefined;
  #starting: Promise<Live> | undefined;
  #failures = 0;
  #notBefore = 0;
  #reason: string | null = null;
  #tools: readonly OfferedTool[] = [];

  constructor(options: ExternalServerOptions) {
    this.name = options.name;
    this.#options = options;
    this.#now = options.clock ?? Date.now;
  }

  /** The tools of its last start; empty before the first. */
  get tools(): readonly OfferedTool[] {
    return this.#tools;
  }

  get status(): ToolServerStatus {
    const state = this.#live
      ? 'running'
      : this.#starting
        ? 'starting'
        : this.#reason === null
          ? 'idle'
          : 'failed';
    return { name: this.name, state, tools: this.#tools.map(({ name }) => name), reason: this.#reason };
  }

  /** Throws `tool_server_failed` if it cannot be started, or at once if it is too early to try again. */
  async start(): Promise<void> {
    await this.#connected();
  }

  async call(tool: string, input: Record<string, unknown>, signal: AbortSignal): Promise<unknown> {
    const { client } = await this.#connected();
    try {
      return await client.callTool(
        { name: tool, arguments: input },
        { signal, timeout: this.#options.callTimeoutMs, maxTotalTimeout: this.#options.callTimeoutMs },
      );
    } catch (error) {
      throw isGeodeError(error) ? error : this.#failure(reasonOf(error), error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#starting?.catch(() => {});
    await this.#live?.[Symbol.asyncDispose]();
  }

  #connected(): Promise<Live> {
    if (this.#live !== undefined) return Promise.resolve(this.#live);
    if (this.#starting === undefined) {
      this.#starting = this.#begin().finally(() => {
        this.#starting = undefined;
      });
      this.#starting.catch(() => {});
    }
    return this.#starting;
  }

  async #begin(): Promise<Live> {
    const waitMs = this.#notBefore - this.#now();
    if (waitMs > 0)
      throw this.#failure(`${this.#reason ?? 'it exited'}; it restarts in ${Math.ceil(waitMs / 1000)} s`);
    const { name, startTimeoutMs, log } = this.#options;
    const deadline = {
      ms: startTimeoutMs,
      what: `Starting the MCP server ${name}`,
      signal: this.#closing.signal,
    };
    try {
      return await within(deadline, (signal) => this.#open(signal));
    } catch (error) {
      this.#pause(reasonOf(error));
      log.warn({ err: error, server: name }, 'An MCP server could not be started');
      throw this.#failure(reasonOf(error), error);
    }
  }

  async #open(signal: AbortSignal): Promise<Live> {
    const { name, version, open, allowed, log } = this.#options;
    await using opened = new AsyncDisposableStack();
    const server = opened.use(await open({ signal }));
    const client = new Client(
      { name: 'geode', version },
      { versionNegotiation: { mode: 'auto' }, jsonSchemaValidator: acceptsAll },
    );
    const end = () => opened.disposeAsync();
    signal.addEventListener('abort', end, { once: true });
    try {
      await client.connect(server.transport);
      const { tools, left } = offeredTools(await listed(client, signal), allowed);
      if (left.length > 0) log.warn({ server: name, left }, 'Some tools of an MCP server are not offered');
      signal.throwIfAborted();
      const held = opened.move();
      const live = { client, since: this.#now(), [Symbol.asyncDispose]: () => held.disposeAsync() };
      client.onclose = () => this.#ended(live, server.lastWords());
      this.#begun(live, tools);
      return live;
    } catch (error) {
      const words = server.lastWords();
      throw words === '' ? error : new Error(`${reasonOf(error)}: ${words.slice(-500)}`, { cause: error });
    } finally {
      signal.removeEventListener('abort', end);
    }
  }

  #begun(live: Live, tools: readonly OfferedTool[]): void {
    this.#live = live;
    this.#reason = null;
    const isOther = JSON.stringify(tools) !== JSON.stringify(this.#tools);
    this.#tools = tools;
    if (isOther) this.#options.onChange();
  }

  #ended(live: Live, words: string): void {
    if (this.#live !== live) return;
    this.#live = undefined;
    if (this.#now() - live.since >= steadyMs) this.#failures = 0;
    if (!this.#closing.signal.aborted)
      this.#pause(words === '' ? 'it ended' : `it exited: ${words.slice(-500)}`);
    Promise.resolve(live[Symbol.asyncDispose]()).catch((error: unknown) =>
      this.#options.log.warn({ err: error, server: this.name }, 'An MCP server could not be stopped'),
    );
  }

  #pause(reason: string): void {
    this.#reason = reason;
    this.#failures += 1;
    this.#notBefore = this.#now() + Math.min(longestPauseMs, firstPauseMs * 2 ** (this.#failures - 1));
  }

  #failure(reason: string, cause?: unknown): GeodeError {
    return new GeodeError('tool_server_failed', `The MCP server ${this.name}: ${reason}.`, { cause });
  }
}

async function listed(client: Client, signal: AbortSignal): Promise<readonly unknown[]> {
  const all: unknown[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < mostPages; page += 1) {
    const { tools, nextCursor } = await client.listTools(
      { ...(cursor !== undefined && { cursor }) },
      { signal },
    );
    all.push(...tools);
    if (nextCursor === undefined) return all;
    cursor = nextCursor;
  }
  return all;
}
