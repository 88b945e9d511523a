/** What `geode egress allow` and `deny` do to a policy. */
import type { EgressPolicy, EgressRule } from '../core/egress.ts';
import { denyAll, parseRules, shownRule } from '../egress/rules.ts';
import { parseSpan } from './ages.ts';
import { type CliContext, exitCodes, text } from './command.ts';
import { shownEgress } from './commands/egress-ls.ts';
import { becomeHost } from './hosting.ts';
import { wrongUsage } from './values.ts';

/** Changes the policy of one sandbox and shows what it is then. */
export async function changeEgress(
  context: CliContext,
  change: (policy: EgressPolicy, words: readonly string[]) => EgressPolicy,
): Promise<number> {
  const [word, ...given] = context.positionals;
  const words = given.flatMap((one) => (/^[A-Z]/.test(one) ? [one] : one.split(',').filter(Boolean)));
  if (word === undefined || words.length === 0)
    throw wrongUsage('Give one [USER/]CHAT and at least one HOST');
  await using host = await becomeHost(context);
  const spec = await (await host.chat(word)).ask(async (own, chat) => {
    const { policy, bindings } = (await own.egress(chat)) ?? { policy: denyAll, bindings: [] };
    const next = { policy: change(policy, words), bindings };
    await own.setEgress(chat, next, { signal: context.signal });
    return next;
  });
  if (context.json) context.out(JSON.stringify(spec));
  else for (const line of shownEgress(spec)) context.out(line);
  return exitCodes.done;
}

/** What a person allows by the very words that deny it is denied no more. `*`: everything public. */
export function allowing(
  policy: EgressPolicy,
  words: readonly string[],
  until: number | undefined,
): EgressPolicy {
  const rules = words.filter((word) => word !== '*').flatMap(parseRules);
  const added = until === undefined ? rules : rules.map((rule) => ({ ...rule, until }));
  const mode = words.includes('*') ? 'allow-all' : policy.mode === 'deny-all' ? 'allow-list' : policy.mode;
  return {
    ...policy,
    mode,
    allow: [...without(policy.allow, rules), ...added],
    deny: without(policy.deny, rules),
  };
}

/** `*`: nothing passes any more. */
export function denying(policy: EgressPolicy, words: readonly string[]): EgressPolicy {
  if (words.includes('*')) return { ...policy, mode: 'deny-all', allow: [] };
  const rules = words.flatMap(parseRules);
  return { ...policy, allow: without(policy.allow, rules), deny: [...without(policy.deny, rules), ...rules] };
}

function without(rules: readonly EgressRule[], taken: readonly EgressRule[]): readonly EgressRule[] {
  const names = new Set(taken.map(shownRule));
  return rules.filter((rule) => !names.has(shownRule(rule)));
}

export function untilFrom({ values }: Pick<CliContext, 'values'>): number | undefined {
  const given = text(values, 'for');
  if (given === undefined) return undefined;
  const ms = parseSpan(given);
  if (ms === undefined) throw wrongUsage(`--for ${given} is not a time: 90s, 30m, 2h, 1d`);
  return Date.now() + ms;
}
