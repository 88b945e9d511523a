import { type CliCommand, exitCodes } from '../../command.ts';
import { wrongUsage } from '../../input/values.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const chatExportCommand: CliCommand = {
  name: 'chat export',
  summary: 'Export a chat as lines of JSON',
  usage: 'CHAT [OPTION …]',
  examples: [
    ['geode chat export plans > plans.ndjson', 'messages, replies, and every turn with its tool calls'],
  ],
  options: { ...forUserOption },
  async run(context) {
    const { positionals, out, signal } = context;
    const [chat, ...more] = positionals;
    if (chat === undefined || more.length > 0) throw wrongUsage('geode chat export takes one CHAT');
    for await (const record of userClient(context).chats.export(chat, { signal }))
      out(JSON.stringify(record));
    return exitCodes.done;
  },
};
