import type { EgressSpec } from '../../../seams/egress.ts';
import { type CliCommand, exitCodes } from '../../command.ts';
import { connectHost, hostingOptions } from '../../hosting.ts';
import { onePositional } from '../../input/values.ts';
import { egressTable } from '../../render/egress.ts';
import { egressDefaultCommand } from './default.ts';

export const egressLsCommand: CliCommand = {
  name: 'egress ls',
  summary: 'Show the network policy of a sandbox',
  usage: '[OPTION …] [[USER/]CHAT]',
  examples: [
    ['geode egress ls demo', 'its mode, its rules, its bridges and bindings'],
    ['geode egress ls', 'the default policy of new sandboxes and runs'],
  ],
  options: hostingOptions,
  async run(context) {
    if (context.positionals.length === 0) return egressDefaultCommand.run(context);
    const word = onePositional(context, '[USER/]CHAT');
    await using host = await connectHost(context);
    const chat = await host.chat(word);
    const spec = await chat.within(({ egress }) => egress.get({ signal: context.signal }));
    if (context.json) context.out(JSON.stringify(spec));
    else if (isNothing(spec)) context.out('No network. Allow a host: geode egress allow CHAT HOST');
    else for (const line of egressTable(spec)) context.out(line);
    return exitCodes.done;
  },
};

function isNothing({ policy, bindings }: EgressSpec): boolean {
  return policy.mode === 'deny-all' && policy.deny.length === 0 && bindings.length === 0;
}
