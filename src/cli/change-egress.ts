/** What `geode egress allow` and `deny` do to a policy. */
import type { EgressPolicy } from '../core/egress.ts';
import { denyAll } from '../egress/rules.ts';
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
  const spec = await (await host.chat(word)).ask((own, chat) =>
    own.changeEgress(
      chat,
      ({ policy, bindings } = { policy: denyAll, bindings: [] }) => ({
        policy: change(policy, words),
        bindings,
      }),
      { signal: context.signal },
    ),
  );
  if (context.json) context.out(JSON.stringify(spec));
  else for (const line of shownEgress(spec)) context.out(line);
  return exitCodes.done;
}

export function untilFrom({ values }: Pick<CliContext, 'values'>): number | undefined {
  const given = text(values, 'for');
  if (given === undefined) return undefined;
  const ms = parseSpan(given);
  if (ms === undefined) throw wrongUsage(`--for ${given} is not a time: 90s, 30m, 2h, 1d`);
  return Date.now() + ms;
}
