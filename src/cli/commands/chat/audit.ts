import { type CliCommand, exitCodes, text } from '../../command.ts';
import { wrongUsage } from '../../input/values.ts';
import { agoText } from '../../render/ages.ts';
import { printableLine } from '../../render/printable.ts';
import { table } from '../../render/table.ts';
import { userClient } from '../../user-client.ts';

const mostRecords = 1000;

export const chatAuditCommand: CliCommand = {
  name: 'chat audit',
  summary: 'Show the log of pairings and schedules',
  usage: '[OPTION …]',
  examples: [['geode chat audit -n 20', 'the last 20 changes, with the chat, key or agent that made them']],
  options: {
    limit: { type: 'string', short: 'n', value: 'NUMBER', description: 'number of records (default 100)' },
  },
  async run(context) {
    const { values, json, out, signal, positionals } = context;
    if (positionals.length > 0) throw wrongUsage('geode chat audit takes no arguments');
    const given = text(values, 'limit') ?? '100';
    const limit = /^\d{1,4}$/.test(given) ? Number(given) : 0;
    if (limit < 1 || limit > mostRecords)
      throw wrongUsage(`--limit ${given} is not a number from 1 to ${mostRecords}`);
    const records = await userClient(context).chats.audit({ limit, signal });
    if (json) out(JSON.stringify({ records }));
    else if (records.length === 0) out('Nobody was paired and nothing was scheduled yet.');
    else
      for (const line of table(
        records.map(({ at, by, deed, detail }) => [
          agoText(at),
          printableLine(by),
          deed,
          printableLine(
            Object.entries(detail)
              .map(([name, value]) => `${name}=${value}`)
              .join(' '),
          ),
        ]),
      ))
        out(line);
    return exitCodes.done;
  },
};
