/** Sessions through which programs in a sandbox use the host's tools. */
import type { Context } from 'hono';
import { toWire } from '../../../contract/names.ts';
import { chatParams } from '../../../contract/sandboxes.ts';
import {
  closedSchema,
  newToolSessionSchema,
  servedToolSessionSchema,
  toolCallsQuery,
  toolCallsSchema,
  toolServersSchema,
  toolSessionSchema,
  toolSessionsSchema,
} from '../../../contract/tools.ts';
import { GeodeError } from '../../../core/errors.ts';
import type { ToolSessions } from '../../../core/tools.ts';
import type { ApiEnv } from '../../environment.ts';
import { signalOf } from '../../events.ts';
import { refuseWithout, requireScope } from '../../guards/auth.ts';
import type { Scope } from '../../keys.ts';
import {
  bodyRefusals,
  defineRoute,
  json,
  jsonBody,
  limitEntryBody,
  refusals,
  sandboxRefusals,
  security,
} from '../../route.ts';
import { startedSandbox } from '../../sandbox-of.ts';

const path = '/api/v1/sandboxes/{chat}/tools';
const tags = ['tools'];

/** What a key needs besides `sandboxes:write` to give a tool to a sandbox. */
const scopeOfTool: Readonly<Record<string, Scope>> = {
  memory_search: 'memory:read',
  list_resources: 'memory:read',
  read_resource: 'memory:read',
  memory_store: 'memory:write',
  run_code: 'runs',
  solve: 'runs',
  schedule_add: 'agents',
  schedule_list: 'agents',
  schedule_remove: 'agents',
};

export function toolRoutes(sessions: ToolSessions) {
  return [
    defineRoute(
      {
        method: 'post',
        path,
        summary: "Let programs in the sandbox use the host's tools",
        description:
          'Gives the session that is there, with other tools if some are named. A key can give only what its own scopes allow; a session that names no tools has those of the config that they allow.',
        tags,
        security,
        middleware: [requireScope('sandboxes:write'), limitEntryBody],
        request: { params: chatParams, body: jsonBody('Which tools.', newToolSessionSchema) },
        responses: {
          200: json('The session, and how programs inside find it.', servedToolSessionSchema),
          ...sandboxRefusals,
          ...bodyRefusals,
        },
      },
      async (context) => {
        const { replace, tools } = context.req.valid('json');
        const sandbox = await startedSandbox(context, context.req.valid('param').chat);
        const { scopes } = context.var.caller;
        const usual = sessions.initial.filter((tool) => scopes.includes(scopeFor(tool)));
        const given = tools ?? sessions.get(sandbox.user, sandbox.chat)?.tools ?? usual;
        checkTools(context, given);
        const options = { tools: given, signal: signalOf(context) };
        const opened = await (replace ? sessions.replace(sandbox, options) : sessions.open(sandbox, options));
        return context.json(toWire(opened), 200);
      },
    ),
    defineRoute(
      {
        method: 'get',
        path,
        summary: 'The tool session of a sandbox',
        tags,
        security,
        middleware: requireScope('sandboxes:read'),
        request: { params: chatParams },
        responses: { 200: json('The session.', toolSessionSchema), ...sandboxRefusals },
      },
      async (context) => {
        const { user, chat } = await inspected(context, context.req.valid('param').chat);
        const found = sessions.get(user, chat);
        if (found === undefined)
          throw new GeodeError('tool_session_not_found', `The sandbox of ${chat} has no tool session.`);
        return context.json(toWire(found), 200);
      },
    ),
    defineRoute(
      {
        method: 'delete',
        path,
        summary: 'End the tool session of a sandbox; none is no error',
        tags,
        security,
        middleware: requireScope('sandboxes:write'),
        request: { params: chatParams },
        responses: { 200: json('How many there were.', closedSchema), ...sandboxRefusals },
      },
      async (context) => {
        const { user, chat } = await inspected(context, context.req.valid('param').chat);
        const closed = await sessions.close(user, chat, { signal: signalOf(context) });
        return context.json({ closed: closed ? 1 : 0 }, 200);
      },
    ),
    defineRoute(
      {
        method: 'get',
        path: '/api/v1/tools',
        summary: "The caller's tool sessions, oldest first, and which tools there are",
        tags,
        security,
        middleware: requireScope('sandboxes:read'),
        responses: { 200: json('The sessions.', toolSessionsSchema), ...refusals },
      },
      (context) => {
        const found = sessions.list(context.var.caller.user).map((each) => toWire(each));
        return context.json({ sessions: found, available: [...sessions.available] }, 200);
      },
    ),
    defineRoute(
      {
        method: 'delete',
        path: '/api/v1/tools',
        summary: 'End all tool sessions of the caller',
        tags,
        security,
        middleware: requireScope('sandboxes:write'),
        responses: { 200: json('How many there were.', closedSchema), ...refusals },
      },
      async (context) => {
        const closed = await sessions.closeAll(context.var.caller.user, { signal: signalOf(context) });
        return context.json({ closed }, 200);
      },
    ),
    defineRoute(
      {
        method: 'get',
        path: '/api/v1/tools/servers',
        summary: 'The MCP servers of the config, their state and their tools',
        tags,
        security,
        middleware: requireScope('admin'),
        responses: { 200: json('In the order of the config.', toolServersSchema), ...refusals },
      },
      (context) => context.json({ servers: toWire(sessions.servers()) }, 200),
    ),
    defineRoute(
      {
        method: 'get',
        path: '/api/v1/tools/calls',
        summary: 'What programs in sandboxes called, newest first',
        tags,
        security,
        middleware: requireScope('sandboxes:read'),
        request: { query: toolCallsQuery },
        responses: { 200: json('The audit of calls.', toolCallsSchema), ...refusals },
      },
      (context) => {
        const { chat, limit } = context.req.valid('query');
        const found = sessions.calls(context.var.caller.user, { limit, ...(chat !== undefined && { chat }) });
        return context.json({ calls: found.map((each) => toWire(each)) }, 200);
      },
    ),
  ] as const;
}

/** `sandbox_not_found` for one that is not the caller's. It need not run. */
function inspected(context: Context<ApiEnv>, chat: string) {
  return context.var.sandboxes.inspect(chat, { signal: signalOf(context) });
}

function checkTools(context: Context<ApiEnv>, tools: readonly string[]): void {
  for (const tool of tools) refuseWithout(context, scopeFor(tool));
}

function scopeFor(tool: string): Scope {
  return scopeOfTool[tool] ?? 'sandboxes:write';
}
