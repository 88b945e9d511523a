import { localUser } from '../../core/identity.ts';
import { agoText } from '../ages.ts';
import { type CliCommand, exitCodes, text } from '../command.ts';
import { table } from '../table.ts';
import { userOption } from './secrets-set.ts';

export const secretsLsCommand: CliCommand = {
  name: 'secrets ls',
  summary: 'list the names of your secrets, never their values',
  usage: '[OPTION …]',
  examples: [['geode secrets ls', 'with the time of their last change']],
  options: userOption,
  async run({ app, values, json, out }) {
    const secrets = (await app()).egress.secrets.list(text(values, 'user') ?? localUser);
    if (json) out(JSON.stringify({ secrets }));
    else if (secrets.length === 0) out('No secrets. geode secrets set NAME < FILE stores one.');
    else
      for (const line of table(secrets.map(({ name, changedAt }) => [name, agoText(changedAt)]))) out(line);
    return exitCodes.done;
  },
};
