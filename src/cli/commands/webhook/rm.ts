import { GeodeError } from '../../../base/errors.ts';
import { type CliCommand, exitCodes } from '../../command.ts';
import { onePositional } from '../../input/values.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const webhookRmCommand: CliCommand = {
  name: 'webhook rm',
  summary: 'Remove a webhook',
  usage: '[OPTION …] NAME',
  examples: [['geode webhook rm ops', 'also removes its secret and its waiting calls']],
  options: { ...forUserOption },
  async run(context) {
    const name = onePositional(context, 'NAME');
    const removed = await userClient(context).webhooks.remove(name, { signal: context.signal });
    if (!removed) throw new GeodeError('webhook_not_found', `There is no webhook ${JSON.stringify(name)}.`);
    context.out(context.json ? JSON.stringify({ name, removed: true }) : `${name}: removed`);
    return exitCodes.done;
  },
};
