import { type CliCommand, exitCodes, text } from '../../command.ts';
import { chatNamed } from '../../input/chat-name.ts';
import { onePositional } from '../../input/values.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const toolsOpenCommand: CliCommand = {
  name: 'tools open',
  summary: "Give programs in a sandbox the host's tools (MCP)",
  usage: '[OPTION …] [USER/]CHAT',
  examples: [
    ['geode tools open demo', 'prints the configuration for an MCP client in the sandbox'],
    ['geode tools open demo --tools memory_search,run_code', 'gives only these tools'],
  ],
  options: {
    ...forUserOption,
    tools: { type: 'string', value: 'NAMES', description: 'tools, separated by commas (default: mcp.tools)' },
    replace: { type: 'boolean', description: 'replace an existing session' },
  },
  async run(context) {
    const { values, json, out, signal } = context;
    const { user, chat } = chatNamed(onePositional(context, '[USER/]CHAT'), context);
    const named = text(values, 'tools');
    const tools = named?.split(',').map((name) => name.trim());
    const session = await userClient(context)
      .as(user)
      .sandboxes.of(chat)
      .tools.open({ ...(tools && { tools }), ...(values.replace === true && { replace: true }), signal });
    if (json) out(JSON.stringify(session));
    else out(JSON.stringify({ mcpServers: { geode: session.server } }, null, 2));
    return exitCodes.done;
  },
};
