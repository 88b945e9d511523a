import { type CliCommand, exitCodes } from '../../command.ts';
import { agoText } from '../../render/ages.ts';
import { printableLine } from '../../render/printable.ts';
import { table } from '../../render/table.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const chatLsCommand: CliCommand = {
  name: 'chat ls',
  summary: 'List chats on all channels',
  usage: '[OPTION …]',
  examples: [['geode chat ls', 'with the latest active first']],
  options: { ...forUserOption },
  async run(context) {
    const { json, out, signal } = context;
    const chats = await userClient(context).chats.list({ signal });
    if (json) out(JSON.stringify({ chats }));
    else if (chats.length === 0) out('No chats yet. Start one: geode chat');
    else {
      const rows = chats.map(({ name, channel, model, activeAt }) => [
        printableLine(name),
        channel,
        model === null ? '-' : printableLine(model),
        agoText(activeAt),
      ]);
      for (const line of table([['CHAT', 'CHANNEL', 'MODEL', 'ACTIVE'], ...rows])) out(line);
    }
    return exitCodes.done;
  },
};
