import { GeodeError } from '../../core/errors.ts';
import { localUser } from '../../core/identity.ts';
import { type CliCommand, exitCodes, text } from '../command.ts';
import { onePositional } from '../values.ts';
import { userOption } from './secrets-set.ts';

export const secretsRmCommand: CliCommand = {
  name: 'secrets rm',
  summary: 'remove a secret; bindings that need it refuse from then on',
  usage: '[OPTION …] NAME',
  examples: [['geode secrets rm openai', 'calls that are under way finish']],
  options: userOption,
  async run(context) {
    const name = onePositional(context, 'NAME');
    const user = text(context.values, 'user') ?? localUser;
    if (!(await context.app()).egress.secrets.remove(user, name))
      throw new GeodeError('secret_missing', `There is no secret ${JSON.stringify(name)}.`);
    context.out(context.json ? JSON.stringify({ name, removed: true }) : `${name}: removed`);
    return exitCodes.done;
  },
};
