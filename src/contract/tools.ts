/** The host's tools for programs in sandboxes, in wire format. */

import { z } from 'zod';
import { decimal } from './decimal.ts';
import { family } from './operation.ts';
import { chatParams } from './sandboxes.ts';

const names = z.array(z.string().min(1).max(128)).max(200);

const newToolSessionSchema = z
  .strictObject({
    tools: names
      .optional()
      .describe('Exactly these tools. Default: the tools of the existing session, or those of the config.'),
    replace: z.boolean().default(false).describe('Replace an existing session.'),
  })
  .meta({ id: 'NewToolSession' });

const shape = {
  id: z.string(),
  user: z.string(),
  chat: z.string(),
  sandbox_id: z.string(),
  tools: names,
  created_at: z.number().describe('In ms since 1970.'),
};

const toolSessionSchema = z.object(shape).meta({ id: 'ToolSession' });

const servedToolSessionSchema = z
  .object({
    ...shape,
    place: z.object({
      socket: z.string().describe('A Unix socket in the sandbox, one JSON message a line.'),
      folder: z.string().describe('The folder of geode-mcp; it is in the PATH of commands.'),
      guest: z.string(),
    }),
    server: z
      .object({ command: z.string(), args: z.array(z.string()) })
      .describe('The entry for `mcpServers` of an MCP client in the sandbox.'),
  })
  .meta({ id: 'ServedToolSession' });

const toolSessionsSchema = z
  .object({ sessions: z.array(toolSessionSchema), available: names })
  .meta({ id: 'ToolSessions' });

const toolServersSchema = z
  .object({
    servers: z.array(
      z.object({
        name: z.string(),
        state: z.enum(['idle', 'starting', 'running', 'failed']),
        tools: z.array(z.string()),
        reason: z.string().nullable().describe('Why it is not running.'),
      }),
    ),
  })
  .meta({ id: 'ToolServers' });

const closedSchema = z
  .object({ closed: z.int().describe('The number of closed sessions.') })
  .meta({ id: 'ClosedTools' });

const toolCallsQuery = z.strictObject({
  chat: z.string().min(1).max(8192).optional(),
  limit: decimal(z.int().min(1).max(1000).default(100)),
});

const toolCallsSchema = z
  .object({
    calls: z.array(
      z.object({
        at: z.number(),
        user: z.string(),
        chat: z.string(),
        sandbox_id: z.string(),
        session_id: z.string(),
        tool: z.string(),
        arguments: z.string().describe('Shortened, secrets removed.'),
        outcome: z.string().describe('`ok`, or an error code.'),
        duration_ms: z.number(),
      }),
    ),
  })
  .meta({ id: 'ToolCalls' });

export const tools = family({
  open: {
    route: 'POST /api/v1/sandboxes/{chat}/tools',
    tag: 'tools',
    scope: 'sandboxes:write',
    summary: "Give programs in a sandbox the host's tools",
    description:
      'Returns an existing session, with other tools if some are named. A key can give only tools that its own scopes allow. Default: the tools of the config that the scopes allow.',
    params: chatParams,
    body: { description: 'The tools.', schema: newToolSessionSchema },
    answer: {
      description: 'The session, and how programs inside connect to it.',
      schema: servedToolSessionSchema,
    },
    reaches: 'sandbox',
  },
  get: {
    route: 'GET /api/v1/sandboxes/{chat}/tools',
    tag: 'tools',
    scope: 'sandboxes:read',
    summary: 'Get the tool session of a sandbox',
    params: chatParams,
    answer: { description: 'The session.', schema: toolSessionSchema },
    reaches: 'sandbox',
  },
  close: {
    route: 'DELETE /api/v1/sandboxes/{chat}/tools',
    tag: 'tools',
    scope: 'sandboxes:write',
    summary: 'Close the tool session of a sandbox',
    params: chatParams,
    answer: { description: 'The number of closed sessions.', schema: closedSchema, field: 'closed' },
    reaches: 'sandbox',
  },
  list: {
    route: 'GET /api/v1/tools',
    tag: 'tools',
    scope: 'sandboxes:read',
    summary: 'List tool sessions and available tools',
    answer: { description: 'The sessions of the caller, oldest first.', schema: toolSessionsSchema },
  },
  closeAll: {
    route: 'DELETE /api/v1/tools',
    tag: 'tools',
    scope: 'sandboxes:write',
    summary: 'Close all tool sessions of the caller',
    answer: { description: 'The number of closed sessions.', schema: closedSchema, field: 'closed' },
  },
  servers: {
    route: 'GET /api/v1/tools/servers',
    tag: 'tools',
    scope: 'admin',
    summary: 'List the configured MCP servers and their tools',
    answer: { description: 'In the order of the config.', schema: toolServersSchema, field: 'servers' },
  },
  calls: {
    route: 'GET /api/v1/tools/calls',
    tag: 'tools',
    scope: 'sandboxes:read',
    summary: 'List tool calls from sandboxes, newest first',
    query: toolCallsQuery,
    answer: { description: 'The audit of calls.', schema: toolCallsSchema, field: 'calls' },
  },
});
