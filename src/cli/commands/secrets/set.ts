import { text as readAll } from 'node:stream/consumers';
import { checkUser, localUser } from '../../../base/identity.ts';
import { type CliCommand, type CliContext, exitCodes, text } from '../../command.ts';
import { connectHost } from '../../hosting.ts';
import { onePositional, wrongUsage } from '../../input/values.ts';

export const userOption = {
  user: { type: 'string', short: 'u', value: 'USER', description: 'the owner of the secret (default: you)' },
} as const;

/** The user whose secrets and costs a command works on. */
export function userFrom({ values }: Pick<CliContext, 'values'>): string {
  return checkUser(text(values, 'user') ?? localUser);
}

export const secretsSetCommand: CliCommand = {
  name: 'secrets set',
  summary: 'Store a credential that never enters a sandbox',
  usage: '[OPTION …] NAME',
  examples: [
    ['geode secrets set anthropic < key.txt', 'reads stdin, so that no command line shows the secret'],
    ['geode secrets set openai --from OPENAI_API_KEY', 'reads an environment variable'],
  ],
  options: {
    ...userOption,
    from: { type: 'string', value: 'VARIABLE', description: 'read it from this variable instead of stdin' },
  },
  async run(context) {
    const name = onePositional(context, 'NAME');
    const variable = text(context.values, 'from');
    if (variable === undefined && context.streams.stdin.isTTY)
      throw wrongUsage(`Give the secret on stdin (geode secrets set ${name} < FILE) or with --from VARIABLE`);
    const given =
      variable === undefined ? await readAll(context.streams.stdin) : context.machine.variable(variable);
    if (given === undefined) throw wrongUsage(`--from ${variable}: this variable is not set`);
    const user = userFrom(context);
    await using host = await connectHost(context);
    await host.client.as(user).secrets.set(name, given.trim(), { signal: context.signal });
    context.out(
      context.json ? JSON.stringify({ name, user }) : `${name}: stored; ${await purposeOf(name, context)}`,
    );
    return exitCodes.done;
  },
};

/** Where a secret of this name is used. */
async function purposeOf(name: string, { machine, loaded }: CliContext): Promise<string> {
  const { channelForms, secretName } = await import('../../onboard/channel-fields.ts');
  const channel = channelForms(machine).find(({ fields }) =>
    fields.some((field) => field.asks === 'secret' && secretName(field) === name),
  );
  if (channel !== undefined) return `the gateway uses it for ${channel.name} from its next start`;
  const { services } = (await loaded()).config.providers;
  const service = Object.entries(services).find(([, each]) => each.secret === name)?.[0];
  if (service !== undefined) return `it is the key of the provider ${service}`;
  return `use it with --bind ${name}`;
}
