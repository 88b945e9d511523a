/** A session in a sandbox that this host holds: its socket is served, and each connection has a server. */
import type { Duplex } from 'node:stream';
import { isJSONRPCRequest, type JSONRPCMessage, type McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import type { GeodeClient } from '../../client/client.ts';
import type { Approvals } from '../../seams/approval.ts';
import type { Events } from '../../seams/events.ts';
import type {
  ToolCallRecord,
  ToolDoor,
  ToolPlace,
  ToolReach,
  ToolSandbox,
  ToolSession,
} from '../../seams/tools.ts';
import { isOffered, serverOf } from '../servers/allowed.ts';
import { LineTransport } from './line-transport.ts';
import { linkedPair } from './linked-pair.ts';
import { sessionResources } from './resources.ts';
import { type CallRules, conductIn, type SessionTool, sessionLimiter } from './session-call.ts';
import { sessionServer } from './session-server.ts';
import { Subscriptions } from './subscriptions.ts';

/** The oldest connections of a program are closed above this number. */
const mostConnections = 64;

export interface LiveOptions {
  readonly version: string;
  /** The current tools: servers come and go. */
  readonly tools: () => readonly SessionTool[];
  readonly rules: CallRules;
  /** API calls for the sandbox, with no more rights than it has. */
  readonly client: (reach: ToolReach) => Promise<GeodeClient>;
  readonly events: Pick<Events, 'read'>;
  readonly approvals: Approvals;
  /** Resolves when the call is recorded. */
  readonly audit: (record: ToolCallRecord) => Promise<void>;
}

interface Connection {
  readonly stream: Duplex;
  close(): Promise<void>;
}

export class LiveSession implements Disposable {
  readonly door: ToolDoor;
  readonly place: ToolPlace;
  readonly #sandbox: ToolSandbox;
  readonly #options: LiveOptions;
  readonly #limiter;
  readonly #serving: Disposable;
  readonly #connections = new Set<Connection>();
  #session: ToolSession;

  constructor(
    session: ToolSession,
    sandbox: ToolSandbox,
    door: ToolDoor,
    place: ToolPlace,
    options: LiveOptions,
  ) {
    this.#session = session;
    this.#sandbox = sandbox;
    this.door = door;
    this.place = place;
    this.#options = options;
    this.#limiter = sessionLimiter(options.rules.rate);
    this.#serving = door.serve((stream) => this.#connect(stream));
  }

  /** Environment variables that show commands where the tools are. */
  get env(): Readonly<Record<string, string>> {
    const { env } = this.#sandbox;
    const path = env.PATH === undefined ? this.place.folder : `${env.PATH}:${this.place.folder}`;
    return { PATH: path, GEODE_MCP_SOCKET: this.place.socket };
  }

  /** Replaces the tools: programs reconnect and see the new ones. */
  change(session: ToolSession): void {
    const isOther = session.tools.join() !== this.#session.tools.join();
    this.#session = session;
    if (isOther) this.#endConnections();
  }

  /** Called when a server's list of tools changed. */
  changeServer(name: string): void {
    if (this.#session.tools.some((tool) => serverOf(tool) === name)) this.#endConnections();
  }

  /** A connection like one from inside, but from the host itself. */
  connect(): Duplex {
    const [own, other] = linkedPair();
    this.#connect(other);
    return own;
  }

  [Symbol.dispose](): void {
    this.#serving[Symbol.dispose]();
    this.#endConnections();
  }

  #endConnections(): void {
    for (const connection of [...this.#connections]) void connection.close();
  }

  #connect(stream: Duplex): void {
    stream.on('error', () => {});
    const { version, tools, client, events, rules, audit, approvals } = this.#options;
    const { files, workdir, limits } = this.#sandbox;
    const { user, sandboxId } = this.#session;
    const { mostSchedules } = rules;
    const clientOf = (memory: ToolReach['memory'] = 'chat') =>
      client({ user, sandboxId, chat: this.#session.chat, limits, mostSchedules, memory });
    const resources = sessionResources(files, workdir, clientOf);
    const servers = new Set<McpServer>();
    const onChange = (uri: string) => {
      for (const { server } of servers) server.sendResourceUpdated({ uri }).catch(() => {});
    };
    const subscriptions = new Subscriptions({ user, files, resources, events, onChange });
    const conduct = conductIn({
      ...rules,
      session: () => this.#session,
      client: clientOf,
      files,
      resources,
      limiter: this.#limiter,
      approvals,
      audit,
    });
    const createServer = () => {
      const allowed = tools().filter(({ name }) => isOffered(this.#session.tools, name));
      const server = sessionServer({ version, tools: allowed, conduct, subscriptions });
      servers.add(server);
      return server;
    };
    const transport = new LineTransport(stream, (message) => {
      for (const uri of listenedTo(message)) subscriptions.add(uri);
    });
    const served = serveStdio(createServer, { transport });
    const connection: Connection = {
      stream,
      async close() {
        await served.close();
        stream.destroy();
      },
    };
    this.#connections.add(connection);
    stream.once('close', () => {
      this.#connections.delete(connection);
      subscriptions[Symbol.dispose]();
      void served.close();
    });
    const [oldest] = this.#connections;
    if (this.#connections.size > mostConnections) void oldest?.close();
  }
}

const listenSchema = z.object({
  notifications: z.object({ resourceSubscriptions: z.array(z.string()).default([]) }),
});

/** Since 2026-07-28 the SDK itself answers subscriptions and does not notify the server. */
function listenedTo(message: JSONRPCMessage): readonly string[] {
  if (!isJSONRPCRequest(message) || message.method !== 'subscriptions/listen') return [];
  return listenSchema.safeParse(message.params).data?.notifications.resourceSubscriptions ?? [];
}
