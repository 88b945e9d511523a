import { type CliCommand, exitCodes, text } from '../../command.ts';
import { connectHost } from '../../hosting.ts';
import { table } from '../../render/table.ts';
import { userFrom, userOption } from '../secrets/set.ts';

export const egressUsageCommand: CliCommand = {
  name: 'egress usage',
  summary: 'Show model use through bindings: tokens and cost',
  usage: '[OPTION …]',
  examples: [['geode egress usage --day 2026-01-31', 'use on one day, UTC (default: today)']],
  options: { ...userOption, day: { type: 'string', value: 'DAY', description: 'YYYY-MM-DD' } },
  async run(context) {
    const { values, json, out, signal } = context;
    await using host = await connectHost(context);
    const day = text(values, 'day');
    const { usage } = await host.client
      .as(userFrom(context))
      .egress.usage({ ...(day !== undefined && { day }), signal });
    if (json) out(JSON.stringify({ usage }));
    else if (usage.length === 0) out('No model calls.');
    else {
      const rows = usage.map(
        ({ binding, model, calls, inputTokens, outputTokens, cachedTokens, costUsd }) => [
          `${binding} ${model}`,
          `${calls} calls`,
          `${inputTokens} in (${cachedTokens} cached), ${outputTokens} out`,
          `$${costUsd.toFixed(4)}`,
        ],
      );
      for (const line of table(rows)) out(line);
    }
    return exitCodes.done;
  },
};
