import { text as readAll } from 'node:stream/consumers';
import { localUser } from '../../core/identity.ts';
import { type CliCommand, exitCodes, text } from '../command.ts';
import { onePositional, wrongUsage } from '../values.ts';

export const userOption = {
  user: { type: 'string', short: 'u', value: 'USER', description: 'whose secret (default: yours)' },
} as const;

export const secretsSetCommand: CliCommand = {
  name: 'secrets set',
  summary: 'store a credential for a binding; it never enters a sandbox and is never shown again',
  usage: '[OPTION …] NAME',
  examples: [
    ['geode secrets set anthropic < key.txt', 'from stdin, so that it stands on no command line'],
    ['geode secrets set openai --from OPENAI_API_KEY', 'from a variable that is set here'],
  ],
  options: {
    ...userOption,
    from: { type: 'string', value: 'VARIABLE', description: 'take it from this variable instead of stdin' },
  },
  async run(context) {
    const name = onePositional(context, 'NAME');
    const variable = text(context.values, 'from');
    if (variable === undefined && context.streams.stdin.isTTY)
      throw wrongUsage(`Give the secret through stdin (geode secrets set ${name} < FILE) or --from VARIABLE`);
    const given =
      variable === undefined ? await readAll(context.streams.stdin) : context.host.variable(variable);
    if (given === undefined) throw wrongUsage(`--from ${variable}: this variable is not set here`);
    const user = text(context.values, 'user') ?? localUser;
    (await context.app()).egress.secrets.set(user, name, given.trim());
    context.out(
      context.json ? JSON.stringify({ name, user }) : `${name}: stored; use it with --bind ${name}`,
    );
    return exitCodes.done;
  },
};
