/**
 * Sessions of clients with a protocol up to 2025-11-25. A session belongs to the caller that opened it. It lets such
 * a client cancel a call and answer questions; later protocols need no session for that.
 */
import { randomUUID } from 'node:crypto';
import {
  isInitializeRequest,
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';

export interface McpSessions {
  /** Undefined for a request that opens no session and names none. */
  answer(request: Request, caller: string, createServer: () => McpServer): Promise<Response | undefined>;
  /** Ends the streams that wait for notifications; calls in progress finish. */
  endStreams(): void;
}

interface McpSession {
  readonly caller: string;
  readonly server: McpServer;
  readonly transport: WebStandardStreamableHTTPServerTransport;
}

/** A client that disappears leaves its session: the caller's least recently used session is closed. */
const mostOfCaller = 32;

export function openMcpSessions(maxRequestBodySize: number): McpSessions {
  /** In the order of last use. */
  const sessions = new Map<string, McpSession>();

  async function open(request: Request, caller: string, createServer: () => McpServer): Promise<Response> {
    const server = createServer();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      maxRequestBodySize,
      onsessioninitialized: (id) => {
        sessions.set(id, { caller, server, transport });
        forgetOldest(caller);
      },
    });
    await server.connect(transport);
    server.server.onclose = () => {
      if (transport.sessionId !== undefined) sessions.delete(transport.sessionId);
    };
    return transport.handleRequest(request);
  }

  function forgetOldest(caller: string): void {
    const own = [...sessions.values()].filter((session) => session.caller === caller);
    if (own.length > mostOfCaller) void own[0]?.server.close();
  }

  return {
    async answer(request, caller, createServer) {
      const id = request.headers.get('mcp-session-id');
      if (id === null)
        return (await isOpening(request, maxRequestBodySize))
          ? open(request, caller, createServer)
          : undefined;
      const session = sessions.get(id);
      if (session?.caller !== caller) return unknownSession();
      sessions.delete(id);
      sessions.set(id, session);
      return session.transport.handleRequest(request);
    },
    endStreams() {
      for (const { transport } of sessions.values()) transport.closeStandaloneSSEStream();
    },
  };
}

async function isOpening(request: Request, maxRequestBodySize: number): Promise<boolean> {
  const length = Number(request.headers.get('content-length') ?? maxRequestBodySize + 1);
  if (request.method !== 'POST' || length > maxRequestBodySize) return false;
  const body: unknown = await request
    .clone()
    .json()
    .catch(() => undefined);
  return isInitializeRequest(body);
}

/** Required by the protocol: the client then opens another one. */
function unknownSession(): Response {
  const error = { code: -32001, message: 'Session not found' };
  return Response.json({ jsonrpc: '2.0', error, id: null }, { status: 404 });
}
