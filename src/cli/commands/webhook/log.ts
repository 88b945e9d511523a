import { type CliCommand, exitCodes } from '../../command.ts';
import { onePositional } from '../../input/values.ts';
import { agoText } from '../../render/ages.ts';
import { printableLine } from '../../render/printable.ts';
import { table } from '../../render/table.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const webhookLogCommand: CliCommand = {
  name: 'webhook log',
  summary: 'List the calls of a webhook',
  usage: '[OPTION …] NAME',
  examples: [['geode webhook log ops', 'newest first, with attempts and errors']],
  options: { ...forUserOption },
  async run(context) {
    const name = onePositional(context, 'NAME');
    const { json, out, signal } = context;
    const deliveries = await userClient(context).webhooks.deliveries(name, { signal });
    if (json) out(JSON.stringify({ deliveries }));
    else if (deliveries.length === 0) out('No calls yet.');
    else {
      const rows = deliveries.map(({ event, at, state, attempts, status, error }) => [
        agoText(at),
        event,
        state,
        String(attempts),
        status === null ? '' : String(status),
        printableLine(error ?? ''),
      ]);
      for (const line of table([['WHEN', 'EVENT', 'STATE', 'ATTEMPTS', 'HTTP', 'ERROR'], ...rows])) out(line);
    }
    return exitCodes.done;
  },
};
