/** The MCP server of one connection from a sandbox: the tools of its session, and its resources. */
import { McpServer, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { isGeodeError } from '../../base/errors.ts';
import type { AskedCall, Conduct } from '../tool.ts';
import type { SessionCall, SessionTool } from './session-call.ts';

const instructions =
  'Tools of the Geode host for this sandbox. memory_search and memory_store share knowledge between chats; run_code runs a program in its own fresh sandbox.';

export interface SessionServerOptions {
  readonly version: string;
  /** The tools that the session may use. */
  readonly tools: readonly SessionTool[];
  readonly conduct: Conduct<SessionCall>;
  readonly subscriptions: { add(uri: string): void; remove(uri: string): void };
}

export function sessionServer({ version, tools, conduct, subscriptions }: SessionServerOptions): McpServer {
  const server = new McpServer({ name: 'geode', title: 'Geode', version }, { instructions });
  server.server.registerCapabilities({ tools: {} });
  for (const tool of tools) tool.add(server, conduct);
  // The SDK serves tools only after one is registered, and an external server may be down.
  if (tools.length === 0) server.server.setRequestHandler('tools/list', () => ({ tools: [] }));
  if (tools.some(({ name }) => name === readName)) addResources(server, conduct, subscriptions);
  return server;
}

/** Reading a resource counts as a call of the tool with that name: the same permission, rate and audit. */
const readName = 'read_resource';
const listName = 'list_resources';

function addResources(
  { server }: McpServer,
  conduct: Conduct<SessionCall>,
  subscriptions: SessionServerOptions['subscriptions'],
): void {
  server.registerCapabilities({ resources: { subscribe: true } });
  server.setRequestHandler('resources/list', async ({ params }, { mcpReq: { signal } }) => {
    const cursor = params?.cursor;
    let page: Awaited<ReturnType<SessionCall['resources']['list']>> | undefined;
    await refused(() =>
      conduct(callOf(listName, { cursor }, signal), async (call) => {
        page = await call.resources.list(cursor, { signal: call.signal });
        return page;
      }),
    );
    return { ...page, resources: [...(page?.resources ?? [])] };
  });
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [
      { name: 'workspace file', uriTemplate: 'file:///{+path}' },
      { name: 'entry of memory', uriTemplate: 'memory://entry/{id}' },
    ],
  }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }, { mcpReq: { signal } }) => {
    const contents: Awaited<ReturnType<SessionCall['resources']['read']>>[] = [];
    await refused(() =>
      conduct(callOf(readName, { uri }, signal), async (call) => {
        contents.push(await call.resources.read(uri, { signal: call.signal }));
        return contents;
      }),
    );
    return { contents };
  });
  server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
    subscriptions.add(uri);
    return {};
  });
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    subscriptions.remove(uri);
    return {};
  });
}

function callOf(tool: string, input: unknown, signal: AbortSignal): AskedCall {
  return { tool, input, waitsFor: 'work', signal, progress: () => {} };
}

/** Geode's errors in the protocol's format. */
async function refused<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isGeodeError(error)) throw error;
    const { InvalidParams, InternalError } = ProtocolErrorCode;
    const code = error.code === 'invalid_input' ? InvalidParams : InternalError;
    throw new ProtocolError(code, error.message, error.toJSON());
  }
}
