/** MCP over streamable HTTP. Each request has a server of its own, so nothing of one caller is there for the next. */
import { createMcpHandler, type McpServer } from '@modelcontextprotocol/server';
import type { McpDoor } from '../api/routes/mcp/mcp.ts';
import { createClient, type GeodeClient } from '../client/client.ts';
import { GeodeError } from '../core/errors.ts';
import { createMcpServer } from './server.ts';

/** A file in base64 and what JSON adds to it fit. */
const maxRequestBodySize = 8 * 1024 * 1024;

export function mcpOverHttp(
  version: string,
  serverFor: (client: GeodeClient, version: string) => McpServer = createMcpServer,
): McpDoor {
  return (request, callApi) => {
    const client = createClient({ name: 'the API', fetch: callApi, connect: refuseSocket });
    // What a server offers never changes while it runs, so there is nothing to subscribe to.
    const handler = createMcpHandler(() => serverFor(client, version), {
      maxRequestBodySize,
      maxSubscriptions: 0,
    });
    return handler.fetch(request);
  };
}

function refuseSocket(): never {
  throw new GeodeError('internal', 'No tool needs a WebSocket');
}
