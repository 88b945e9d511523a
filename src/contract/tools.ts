/** Tools of the host for programs in sandboxes, as they go over the wire. */

import { z } from 'zod';
import { decimal } from './decimal.ts';
import { family } from './operation.ts';
import { chatParams } from './sandboxes.ts';

const names = z.array(z.string().min(1).max(128)).max(200);

const newToolSessionSchema = z
  .strictObject({
    tools: names
      .optional()
      .describe('Exactly these; left out: what the session has, or what the config gives to a new one.'),
    replace: z.boolean().default(false).describe('Ends the session that is there, and makes another.'),
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
      folder: z.string().describe('Holds geode-mcp; commands have it in their PATH.'),
      guest: z.string(),
    }),
    server: z
      .object({ command: z.string(), args: z.array(z.string()) })
      .describe('As it stands in the `mcpServers` of an MCP client in the sandbox.'),
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
        reason: z.string().nullable().describe('Why it does not run.'),
      }),
    ),
  })
  .meta({ id: 'ToolServers' });

const closedSchema = z
  .object({ closed: z.int().describe('How many sessions there were.') })
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
        arguments: z.string().describe('Cut, and without secrets.'),
        outcome: z.string().describe('`ok`, or the code of the error.'),
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
    summary: "Let programs in the sandbox use the host's tools",
    description:
      'Gives the session that is there, with other tools if some are named. A key can give only what its own scopes allow; a session that names no tools has those of the config that they allow.',
    params: chatParams,
    body: { says: 'Which tools.', schema: newToolSessionSchema },
    answer: { says: 'The session, and how programs inside find it.', schema: servedToolSessionSchema },
    reaches: 'sandbox',
  },
  get: {
    route: 'GET /api/v1/sandboxes/{chat}/tools',
    tag: 'tools',
    scope: 'sandboxes:read',
    summary: 'The tool session of a sandbox',
    params: chatParams,
    answer: { says: 'The session.', schema: toolSessionSchema },
    reaches: 'sandbox',
  },
  close: {
    route: 'DELETE /api/v1/sandboxes/{chat}/tools',
    tag: 'tools',
    scope: 'sandboxes:write',
    summary: 'End the tool session of a sandbox; none is no error',
    params: chatParams,
    answer: { says: 'How many there were.', schema: closedSchema, field: 'closed' },
    reaches: 'sandbox',
  },
  list: {
    route: 'GET /api/v1/tools',
    tag: 'tools',
    scope: 'sandboxes:read',
    summary: "The caller's tool sessions, oldest first, and which tools there are",
    answer: { says: 'The sessions.', schema: toolSessionsSchema },
  },
  closeAll: {
    route: 'DELETE /api/v1/tools',
    tag: 'tools',
    scope: 'sandboxes:write',
    summary: 'End all tool sessions of the caller',
    answer: { says: 'How many there were.', schema: closedSchema, field: 'closed' },
  },
  servers: {
    route: 'GET /api/v1/tools/servers',
    tag: 'tools',
    scope: 'admin',
    summary: 'The MCP servers of the config, their state and their tools',
    answer: { says: 'In the order of the config.', schema: toolServersSchema, field: 'servers' },
  },
  calls: {
    route: 'GET /api/v1/tools/calls',
    tag: 'tools',
    scope: 'sandboxes:read',
    summary: 'What programs in sandboxes called, newest first',
    query: toolCallsQuery,
    answer: { says: 'The audit of calls.', schema: toolCallsSchema, field: 'calls' },
  },
});
