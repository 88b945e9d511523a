/** A host with one agent driver on it, and a scripted model behind that. */
import { randomUUID } from 'node:crypto';
import { createClient, type GeodeClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import type { AgentEvent, Attachment, DriverName, PermissionAnswer } from '../../src/seams/agent.ts';
import { type AgentSteps, agentScript } from '../fixtures/model-server/agent-script.ts';
import { type ModelServer, startModelServer } from '../fixtures/model-server/model-server.ts';
import { type HostWorld, hostWorld, type OpenedHost } from '../host/world.ts';

export interface StageOptions {
  readonly driver: DriverName;
  settings(server: ModelServer): Readonly<Record<string, string>>;
  /** The secret that the binding of its model needs. */
  readonly secret?: string;
}

export type Permit = (event: Extract<AgentEvent, { type: 'permission-request' }>) => PermissionAnswer;

/** A test sets the answers of the scripted model in `steps` before it sends a message. */
export class Stage implements AsyncDisposable {
  readonly steps: { -readonly [words in keyof AgentSteps]: AgentSteps[words] };
  readonly server: ModelServer;
  readonly world: HostWorld;
  readonly key: string;
  readonly #driver: DriverName;
  #opened: OpenedHost;
  #client: GeodeClient;

  static async open({ driver, settings, secret }: StageOptions): Promise<Stage> {
    const steps = {};
    const server = await startModelServer(agentScript(steps));
    const world = hostWorld(settings(server));
    const stage = new Stage(driver, steps, server, world, await world.open());
    if (secret !== undefined) await stage.client.secrets.set(secret, stage.key);
    return stage;
  }

  private constructor(
    driver: DriverName,
    steps: Record<string, AgentSteps[string]>,
    server: ModelServer,
    world: HostWorld,
    opened: OpenedHost,
  ) {
    this.#driver = driver;
    this.steps = steps;
    this.server = server;
    this.world = world;
    this.key = `sk-${randomUUID()}`;
    this.#opened = opened;
    this.#client = createClient(unixTransport(opened.socket.path));
  }

  get client(): GeodeClient {
    return this.#client;
  }

  /** Ends the host, and opens another. */
  async changeHosts(between: () => void = () => {}): Promise<void> {
    await this.#opened[Symbol.asyncDispose]();
    between();
    this.#opened = await this.world.open();
    this.#client = createClient(unixTransport(this.#opened.socket.path));
  }

  async send(
    chat: string,
    text: string,
    { permit = () => 'once', attachments = [] }: { permit?: Permit; attachments?: Attachment[] } = {},
  ): Promise<readonly AgentEvent[]> {
    const events: AgentEvent[] = [];
    const turn = this.client.agents.send(chat, { text, attachments }, { driver: this.#driver });
    for await (const event of turn) {
      events.push(event);
      if (event.type === 'permission-request') await this.client.agents.answer(chat, event.id, permit(event));
    }
    return events;
  }

  /** Commands of the sandbox and what they started. */
  async running(chat: string): Promise<string> {
    const { processes, disowned } = await this.client.sandboxes.of(chat).processes();
    return JSON.stringify([processes.filter(({ state }) => state === 'running'), disowned]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
  }
}

export async function all(events: AsyncIterable<AgentEvent>): Promise<readonly AgentEvent[]> {
  const seen: AgentEvent[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

export function textOf(events: readonly AgentEvent[]): string {
  return events.map((event) => (event.type === 'text' ? event.text : '')).join('');
}

/** Pieces of one text count as one. */
export function shapesOf(events: readonly AgentEvent[]): readonly string[] {
  return events
    .map(({ type }) => type)
    .filter((type, index, types) => type !== 'text' || types[index - 1] !== 'text');
}
