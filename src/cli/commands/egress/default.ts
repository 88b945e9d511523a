import type { RemoteEgressDefault } from '../../../client/egress.ts';
import { reachesNothing } from '../../../seams/egress.ts';
import { type CliCommand, type CliContext, exitCodes, texts } from '../../command.ts';
import { egressFrom, egressOptions } from '../../input/egress-options.ts';
import { wrongUsage } from '../../input/values.ts';
import { shownEgress } from '../../render/egress.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const egressDefaultCommand: CliCommand = {
  name: 'egress default',
  summary: 'Show or set the default network policy',
  usage: '[OPTION …]',
  examples: [
    ['geode egress default', 'the policy, and where it was set'],
    ['geode egress default --allow npm,pypi', 'for new sandboxes; existing ones keep their policy'],
    ['geode egress default --nothing', 'no network, regardless of the config'],
    ['geode egress default --clear', 'uses the config again'],
  ],
  options: {
    ...egressOptions,
    ...forUserOption,
    nothing: { type: 'boolean', description: 'allow nothing' },
    clear: {
      type: 'boolean',
      description: 'use egress.allow, egress.deny and egress.ask of the config',
    },
  },
  async run(context) {
    const { positionals, values, signal } = context;
    if (positionals.length > 0)
      throw wrongUsage(
        'geode egress default is for all new sandboxes; use geode egress allow CHAT HOST for one',
      );
    const spec = await egressFrom(values);
    const ways = [spec !== undefined, values.nothing === true, values.clear === true].filter(Boolean);
    if (ways.length > 1) throw wrongUsage('Give rules, or --nothing, or --clear');
    if (spec === undefined && texts(values, 'deny').length > 0)
      throw wrongUsage('--deny needs an --allow that it narrows');
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
  const who = { user: 'set by you', config: 'set in the config', nothing: 'not set' }[holds.from];
  const what = holds.policy.mode === 'deny-all' && holds.bindings.length === 0 ? 'nothing' : 'this';
  return [
    `New sandboxes and runs may reach ${what} unless they name a policy (${who}).`,
    ...(what === 'this' ? shownEgress(holds) : []),
  ];
}
