import { GeodeError } from '../../../core/errors.ts';
import { type CliCommand, exitCodes } from '../../command.ts';
import { connectHost } from '../../hosting.ts';
import { onePositional } from '../../input/values.ts';
import { userFrom, userOption } from './set.ts';

export const secretsRmCommand: CliCommand = {
  name: 'secrets rm',
  summary: 'remove a secret; bindings that need it refuse from then on',
  usage: '[OPTION …] NAME',
  examples: [['geode secrets rm openai', 'calls that are under way finish']],
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
