import { localUser } from '../../base/identity.ts';
import { serveMcpOverStdio } from '../../mcp/stdio.ts';
import { type CliCommand, exitCodes, text } from '../command.ts';
import { connectHost } from '../hosting.ts';
import { wrongUsage } from '../input/values.ts';
import { version } from '../version.ts';

export const mcpCommand: CliCommand = {
  name: 'mcp',
  summary: "Serve Geode's tools over MCP (stdio)",
  usage: '[--user USER]',
  examples: [
    ['claude mcp add geode -- geode mcp', 'adds the tools to Claude Code'],
    ['geode mcp --user alice', 'uses the sandboxes and memory of alice'],
  ],
  options: {
    user: {
      type: 'string',
      value: 'USER',
      description: `the user who owns the sandboxes and memory (default: ${localUser})`,
    },
  },
  async run(context) {
    const { streams, signal, err, positionals, values } = context;
    if (positionals.length > 0) throw wrongUsage(`geode mcp takes no ${positionals.join(' ')}`);
    await using host = await connectHost(context);
    const { client } = host;
    const user = text(values, 'user');
    await serveMcpOverStdio(user === undefined ? client : client.as(user), {
      version,
      stdin: streams.stdin,
      stdout: streams.stdout,
      signal,
      onError: (error) => err(`geode mcp: ${error.message}`),
    });
    // An open pipe that nobody writes to would keep this program waiting.
    streams.stdin.destroy();
    return exitCodes.done;
  },
};
