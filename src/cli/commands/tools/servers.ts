import { type CliCommand, exitCodes } from '../../command.ts';
import { printableLine } from '../../render/printable.ts';
import { table } from '../../render/table.ts';
import { userClient } from '../../user-client.ts';

export const toolsServersCommand: CliCommand = {
  name: 'tools servers',
  summary: 'List the configured MCP servers and their tools',
  usage: '',
  examples: [['geode tools servers', 'each starts when a session first needs it']],
  options: {},
  async run(context) {
    const { json, out, signal } = context;
    const servers = await userClient(context).tools.servers({ signal });
    if (json) out(JSON.stringify({ servers }));
    else if (servers.length === 0) out('No MCP servers are configured: see mcp.servers in docs/mcp.md.');
    else
      for (const line of table(
        servers.map(({ name, state, tools, reason }) => [
          name,
          state,
          printableLine(reason ?? tools.join(', ')),
        ]),
      ))
        out(line);
    return exitCodes.done;
  },
};
