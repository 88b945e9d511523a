import { type CliCommand, exitCodes } from '../../command.ts';
import { shownName } from '../../input/chat-name.ts';
import { agoText } from '../../render/ages.ts';
import { table } from '../../render/table.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const toolsLsCommand: CliCommand = {
  name: 'tools ls',
  summary: "List the sandboxes that have the host's tools",
  usage: '[OPTION …]',
  examples: [['geode tools ls', 'with the tools of each']],
  options: forUserOption,
  async run(context) {
    const { json, out, signal } = context;
    const client = userClient(context);
    const sessions = await client.tools.list({ signal });
    if (json) out(JSON.stringify({ sessions, available: await client.tools.available({ signal }) }));
    else if (sessions.length === 0) out('No sandbox has tools. Give it some: geode tools open CHAT');
    else
      for (const line of table(
        sessions.map((session) => [shownName(session), agoText(session.createdAt), session.tools.join(', ')]),
      ))
        out(line);
    return exitCodes.done;
  },
};
