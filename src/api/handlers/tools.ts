/** Sessions through which programs in a sandbox use the host's tools. */

import { GeodeError } from '../../base/errors.ts';
import type { Scope } from '../../contract/keys.ts';
import type { tools } from '../../contract/tools.ts';
import type { ToolSessions } from '../../seams/tools.ts';
import type { Call } from '../call.ts';
import { startedSandbox } from '../sandbox-of.ts';
import type { Handlers } from '../serve.ts';

/** The scope that a key needs, besides `sandboxes:write`, to give a tool to a sandbox. */
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

export function toolHandlers(sessions: ToolSessions): Handlers<typeof tools> {
  return {
    async open({ chat, replace, tools: asked }, call) {
      const { caller, signal } = call;
      const sandbox = await startedSandbox(call, chat);
      const usual = sessions.initial.filter((tool) => caller.scopes.includes(scopeFor(tool)));
      const given = asked ?? sessions.get(sandbox.user, sandbox.chat)?.tools ?? usual;
      for (const tool of given) call.require(scopeFor(tool));
      const options = { tools: given, signal };
      return replace ? sessions.replace(sandbox, options) : sessions.open(sandbox, options);
    },
    async get(named, call) {
      const { user, chat } = await inspected(call, named.chat);
      const found = sessions.get(user, chat);
      if (found !== undefined) return found;
      throw new GeodeError('tool_session_not_found', `The sandbox of ${chat} has no tool session.`);
    },
    async close(named, call) {
      const { user, chat } = await inspected(call, named.chat);
      return (await sessions.close(user, chat, { signal: call.signal })) ? 1 : 0;
    },
    list: (_, { caller }) => ({ sessions: sessions.list(caller.user), available: sessions.available }),
    closeAll: (_, { caller, signal }) => sessions.closeAll(caller.user, { signal }),
    servers: () => sessions.servers(),
    calls: (which, { caller }) => sessions.calls(caller.user, which),
  };
}

/** Throws `sandbox_not_found` for a sandbox of another user. It need not run. */
function inspected({ sandboxes, signal }: Call, chat: string) {
  return sandboxes.inspect(chat, { signal });
}

function scopeFor(tool: string): Scope {
  return scopeOfTool[tool] ?? 'sandboxes:write';
}
