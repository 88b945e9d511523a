import { type CliCommand, exitCodes } from '../../command.ts';
import { printableLine } from '../../render/printable.ts';
import { table } from '../../render/table.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const scheduleLsCommand: CliCommand = {
  name: 'schedule ls',
  summary: 'List scheduled messages',
  usage: '[CHAT] [OPTION …]',
  examples: [
    ['geode schedule ls', 'schedules of every chat'],
    ['geode schedule ls plans', 'schedules of one chat'],
  ],
  options: { ...forUserOption },
  async run(context) {
    const { positionals, json, out, signal } = context;
    const [chat] = positionals;
    const schedules = await userClient(context).chats.schedules({
      signal,
      ...(chat !== undefined && { chat }),
    });
    if (json) out(JSON.stringify({ schedules }));
    else if (schedules.length === 0) out('No schedules yet. Add one: geode schedule add CHAT WHEN TEXT');
    else {
      const rows = schedules.map(({ id, chat: where, when, next, text }) => [
        id,
        printableLine(where),
        printableLine(when),
        new Date(next).toISOString().slice(0, 16),
        printableLine(text).slice(0, 60),
      ]);
      for (const line of table([['ID', 'CHAT', 'WHEN', 'NEXT (UTC)', 'TEXT'], ...rows])) out(line);
    }
    return exitCodes.done;
  },
};
