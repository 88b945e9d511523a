import type { RemoteEgressDefault } from '../../../client/egress.ts';
import { reachesNothing } from '../../../core/egress.ts';
import { type CliCommand, type CliContext, exitCodes, texts } from '../../command.ts';
import { egressFrom, egressOptions } from '../../input/egress-options.ts';
import { wrongUsage } from '../../input/values.ts';
import { shownEgress } from '../../render/egress.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const egressDefaultCommand: CliCommand = {
  name: 'egress default',
  summary: 'show or say what your new sandboxes and runs may reach that name nothing',
  usage: '[OPTION …]',
  examples: [
    ['geode egress default', 'what holds, and who said so'],
    ['geode egress default --allow npm,pypi', 'from now on; sandboxes that are there keep what they have'],
    ['geode egress default --nothing', 'nothing, whatever the config says'],
    ['geode egress default --clear', 'what the config says, again'],
  ],
  options: {
    ...egressOptions,
    ...forUserOption,
    nothing: { type: 'boolean', description: 'they may reach nothing' },
    clear: {
      type: 'boolean',
      description: 'let egress.allow, egress.deny and egress.ask of the config hold',
    },
  },
  async run(context) {
    const { positionals, values, signal } = context;
    if (positionals.length > 0)
      throw wrongUsage('This is about all of your new sandboxes; geode egress allow CHAT HOST is about one');
    const spec = await egressFrom(values);
    const ways = [spec !== undefined, values.nothing === true, values.clear === true].filter(Boolean);
    if (ways.length > 1) throw wrongUsage('Give rules, or --nothing, or --clear');
    if (spec === undefined && texts(values, 'deny').length > 0)
      throw wrongUsage('--deny needs an --allow from which it takes something away');
    const { egress } = userClient(context);
    const given = values.nothing === true ? reachesNothing : spec;
    if (values.clear === true) show(await egress.clearDefault({ signal }), context);
    else if (given !== undefined) show(await egress.setDefault(given, { signal }), context);
    else show(await egress.default({ signal }), context);
    return exitCodes.done;
  },
};

function show(holds: RemoteEgressDefault, { json, out }: CliContext): void {
  if (json) out(JSON.stringify(holds));
  else for (const line of shownDefault(holds)) out(line);
}

function shownDefault(holds: RemoteEgressDefault): readonly string[] {
  const who = { user: 'you said so', config: 'the config says so', nothing: 'nobody said anything' }[
    holds.from
  ];
  const what = holds.policy.mode === 'deny-all' && holds.bindings.length === 0 ? 'nothing' : 'this';
  return [
    `New sandboxes and runs that name nothing may reach ${what} (${who}).`,
    ...(what === 'this' ? shownEgress(holds) : []),
  ];
}
