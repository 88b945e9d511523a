import type { EgressSpec } from '../../core/egress.ts';
import { shownTarget } from '../../egress/host-name.ts';
import { shownRule } from '../../egress/rules.ts';
import { spanText } from '../ages.ts';
import { type CliCommand, exitCodes } from '../command.ts';
import { becomeHost, hostingOptions } from '../hosting.ts';
import { onePositional } from '../values.ts';

export const egressLsCommand: CliCommand = {
  name: 'egress ls',
  summary: 'show what a sandbox may reach',
  usage: '[OPTION …] [USER/]CHAT',
  examples: [['geode egress ls demo', 'its mode, its rules, its bridges and bindings']],
  options: hostingOptions,
  host: 'needed',
  async run(context) {
    const word = onePositional(context, '[USER/]CHAT');
    await using host = await becomeHost(context);
    const spec = await (await host.chat(word)).ask((own, chat) => own.egress(chat));
    if (context.json) context.out(JSON.stringify(spec ?? null));
    else for (const line of shownEgress(spec)) context.out(line);
    return exitCodes.done;
  },
};

/** As people read it: deny rules first, since they win. */
export function shownEgress(spec: EgressSpec | undefined, now = Date.now()): readonly string[] {
  if (spec === undefined) return ['It may reach nothing. geode egress allow CHAT HOST changes that.'];
  const { policy, bindings } = spec;
  return [
    `mode ${policy.mode}`,
    ...policy.deny.map((rule) => `deny ${shownRule(rule)}`),
    ...policy.allow.map((rule) => {
      const left =
        rule.until === undefined ? '' : rule.until > now ? ` for ${spanText(rule.until - now)}` : ' (over)';
      return `allow ${shownRule(rule)}${rule.private ? ' (private address)' : ''}${left}`;
    }),
    ...(policy.bridges ?? []).map(({ port, to }) => `bridge 127.0.0.1:${port} to ${shownTarget(to)}`),
    ...bindings.map(({ name, upstream }) => `bind ${name}${upstream === undefined ? '' : ` to ${upstream}`}`),
  ];
}
