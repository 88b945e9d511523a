/** Tools of the host for programs in sandboxes, as they go over the wire. */
import { z } from 'zod';
import { decimal } from './decimal.ts';

const names = z.array(z.string().min(1).max(128)).max(200);

export const newToolSessionSchema = z
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

export const toolSessionSchema = z.object(shape).meta({ id: 'ToolSession' });

export const servedToolSessionSchema = z
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

export const toolSessionsSchema = z
  .object({ sessions: z.array(toolSessionSchema), available: names })
  .meta({ id: 'ToolSessions' });

export const toolServersSchema = z
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

export const closedSchema = z
  .object({ closed: z.int().describe('How many sessions there were.') })
  .meta({ id: 'ClosedTools' });

export const toolCallsQuery = z.strictObject({
  chat: z.string().min(1).max(8192).optional(),
  limit: decimal(z.int().min(1).max(1000).default(100)),
});

export const toolCallsSchema = z
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

export type WireToolSession = z.infer<typeof toolSessionSchema>;
export type WireServedToolSession = z.infer<typeof servedToolSessionSchema>;
export type WireToolSessions = z.infer<typeof toolSessionsSchema>;
export type WireToolCalls = z.infer<typeof toolCallsSchema>;
