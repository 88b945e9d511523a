import { shownBinding } from '../../contract/egress-bindings.ts';
import { shownRule } from '../../contract/egress-rules.ts';
import { shownTarget } from '../../contract/host-name.ts';
import type { EgressSpec } from '../../seams/egress.ts';
import { spanText } from './ages.ts';
import { table } from './table.ts';

/** The mode, and the rules below their heads. */
export function egressTable(spec: EgressSpec): readonly string[] {
  const [mode = '', ...rules] = shownEgress(spec);
  const rows = rules.map((rule) => {
    const at = rule.indexOf(' ');
    return [rule.slice(0, at), rule.slice(at + 1)];
  });
  return rows.length === 0 ? [mode] : [mode, ...table([['RULE', 'TARGET'], ...rows])];
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
