import { type CliCommand, exitCodes } from '../../command.ts';
import { connectHost } from '../../hosting.ts';
import { agoText } from '../../render/ages.ts';
import { table } from '../../render/table.ts';
import { userFrom, userOption } from './set.ts';

export const secretsLsCommand: CliCommand = {
  name: 'secrets ls',
  summary: 'List the names of your secrets',
  usage: '[OPTION …]',
  examples: [['geode secrets ls', 'with the time of their last change']],
  options: userOption,
  async run(context) {
    const { json, out, signal } = context;
    await using host = await connectHost(context);
    const secrets = await host.client.as(userFrom(context)).secrets.list({ signal });
    if (json) out(JSON.stringify({ secrets }));
    else if (secrets.length === 0) out('No secrets. Store one: geode secrets set NAME < FILE');
    else
      for (const line of table(secrets.map(({ name, changedAt }) => [name, agoText(changedAt)]))) out(line);
    return exitCodes.done;
  },
};
