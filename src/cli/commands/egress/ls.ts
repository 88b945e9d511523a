import type { EgressSpec } from '../../../core/egress.ts';
import { shownBinding } from '../../../egress/bindings.ts';
import { shownTarget } from '../../../egress/host-name.ts';
import { shownRule } from '../../../egress/rules.ts';
import { type CliCommand, exitCodes } from '../../command.ts';
import { connectHost, hostingOptions } from '../../hosting.ts';
import { onePositional } from '../../input/values.ts';
import { spanText } from '../../render/ages.ts';

export const egressLsCommand: CliCommand = {
  name: 'egress ls',
  summary: 'show what a sandbox may reach',
  usage: '[OPTION …] [USER/]CHAT',
  examples: [['geode egress ls demo', 'its mode, its rules, its bridges and bindings']],
  options: hostingOptions,
  async run(context) {
    const word = onePositional(context, '[USER/]CHAT');
    await using host = await connectHost(context);
    const chat = await host.chat(word);
    const spec = await chat.within(({ egress }) => egress.get({ signal: context.signal }));
    if (context.json) context.out(JSON.stringify(spec));
    else if (isNothing(spec)) context.out('It may reach nothing. geode egress allow CHAT HOST changes that.');
    else for (const line of shownEgress(spec)) context.out(line);
    return exitCodes.done;
  },
};

function isNothing({ policy, bindings }: EgressSpec): boolean {
  return policy.mode === 'deny-all' && policy.deny.length === 0 && bindings.length === 0;
}

/** As people read it: deny rules first, since they win. */
export function shownEgress({ policy, bindings }: EgressSpec, now = Date.now()): readonly string[] {
  return [
    `mode ${policy.mode}`,
    ...policy.deny.map((rule) => `deny ${shownRule(rule)}`),
    ...policy.allow.map((rule) => {
      const left =
        rule.until === undefined ? '' : rule.until > now ? ` for ${spanText(rule.until - now)}` : ' (over)';
      const opened = rule.inspect ? ' (TLS is opened on the host)' : '';
      return `allow ${shownRule(rule)}${rule.private ? ' (private address)' : ''}${opened}${left}`;
    }),
    ...(policy.bridges ?? []).map(({ port, to }) => `bridge 127.0.0.1:${port} to ${shownTarget(to)}`),
    ...bindings.map((binding) => `bind ${shownBinding(binding)}`),
  ];
}
