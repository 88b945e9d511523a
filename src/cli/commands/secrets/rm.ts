import { GeodeError } from '../../../base/errors.ts';
import { type CliCommand, exitCodes } from '../../command.ts';
import { connectHost } from '../../hosting.ts';
import { onePositional } from '../../input/values.ts';
import { userFrom, userOption } from './set.ts';

export const secretsRmCommand: CliCommand = {
  name: 'secrets rm',
  summary: 'Remove a secret',
  usage: '[OPTION …] NAME',
  examples: [['geode secrets rm openai', 'calls in progress finish; later ones are refused']],
  options: userOption,
  async run(context) {
    const name = onePositional(context, 'NAME');
    await using host = await connectHost(context);
    const { secrets } = host.client.as(userFrom(context));
    if (!(await secrets.remove(name, { signal: context.signal })))
      throw new GeodeError('secret_missing', `There is no secret ${JSON.stringify(name)}.`);
    context.out(context.json ? JSON.stringify({ name, removed: true }) : `${name}: removed`);
    return exitCodes.done;
  },
};
