/**
 * MCP over streamable HTTP. A request of the current protocol gets its own server, so callers share nothing; a client
 * of an older protocol may hold a session.
 */
import { createMcpHandler, type McpServer } from '@modelcontextprotocol/server';
import type { McpDoor } from '../api/mcp-door.ts';
import { GeodeError } from '../base/errors.ts';
import { createClient, type GeodeClient } from '../client/client.ts';
import { openMcpSessions } from './http-sessions.ts';
import { createMcpServer } from './server.ts';

/** Enough for a file in base64 plus the JSON around it. */
const maxRequestBodySize = 8 * 1024 * 1024;

export function mcpOverHttp(
  version: string,
  serverFor: (client: GeodeClient, version: string) => McpServer = createMcpServer,
): McpDoor {
  return (stopping) => {
    const sessions = openMcpSessions(maxRequestBodySize);
    stopping.addEventListener('abort', () => sessions.endStreams(), { once: true });
    return async (request, caller, callApi) => {
      const createServer = () =>
        serverFor(createClient({ name: 'the API', fetch: callApi, connect: refuseSocket }), version);
      const owner = JSON.stringify([caller.user, caller.keyId]);
      return (
        (await sessions.answer(request, owner, createServer)) ??
        // The tools of a server never change while it runs, so a stream for changes ends at once.
        createMcpHandler(createServer, { maxRequestBodySize }).fetch(request)
      );
    };
  };
}

function refuseSocket(): never {
  throw new GeodeError('internal', 'No tool needs a WebSocket');
}
