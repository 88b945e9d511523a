import { type CliCommand, exitCodes } from '../../command.ts';
import { printableLine } from '../../render/printable.ts';
import { table } from '../../render/table.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const webhookLsCommand: CliCommand = {
  name: 'webhook ls',
  summary: 'List webhooks',
  usage: '[OPTION …]',
  examples: [['geode webhook ls', 'with the number of waiting calls and the last error']],
  options: { ...forUserOption },
  async run(context) {
    const { json, out, signal } = context;
    const webhooks = await userClient(context).webhooks.list({ signal });
    if (json) out(JSON.stringify({ webhooks }));
    else if (webhooks.length === 0) out('No webhooks. Add one: geode webhook add NAME URL');
    else {
      const rows = webhooks.map(({ name, url, enabled, waiting, lastError }) => [
        name,
        enabled ? 'on' : 'off',
        String(waiting),
        printableLine(url),
        printableLine(lastError ?? ''),
      ]);
      for (const line of table([['NAME', 'STATE', 'WAITING', 'URL', 'LAST ERROR'], ...rows])) out(line);
    }
    return exitCodes.done;
  },
};
