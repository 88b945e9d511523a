import { type CliCommand, exitCodes, text } from '../../command.ts';
import { chatNamed } from '../../input/chat-name.ts';
import { onePositional } from '../../input/values.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const toolsOpenCommand: CliCommand = {
  name: 'tools open',
  summary: "let programs in a sandbox use the host's tools, over MCP",
  usage: '[OPTION …] [USER/]CHAT',
  examples: [
    ['geode tools open demo', 'prints what an MCP client in the sandbox needs in its configuration'],
    ['geode tools open demo --tools memory_search,run_code', 'with these tools and no others'],
  ],
  options: {
    ...forUserOption,
    tools: { type: 'string', value: 'NAMES', description: 'which, divided by commas; mcp.tools by default' },
    replace: { type: 'boolean', description: 'end the session that is there, and make another' },
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
