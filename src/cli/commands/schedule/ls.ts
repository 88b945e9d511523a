import { type CliCommand, exitCodes } from '../../command.ts';
import { printableLine } from '../../render/printable.ts';
import { table } from '../../render/table.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const scheduleLsCommand: CliCommand = {
  name: 'schedule ls',
  summary: 'list what is said in chats at set times, the next one first',
  usage: '[CHAT] [OPTION …]',
  examples: [
    ['geode schedule ls', 'of every chat'],
    ['geode schedule ls plans', 'of one'],
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
    else if (schedules.length === 0) out('No schedules yet. geode schedule add makes one.');
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
