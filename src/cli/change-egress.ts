/** What `geode egress allow` and `deny` do to a policy. */
import type { RemoteSandboxEgress } from '../client/egress.ts';
import type { EgressSpec } from '../core/egress.ts';
import { type CliContext, exitCodes, text } from './command.ts';
import { shownEgress } from './commands/egress/ls.ts';
import { connectHost } from './hosting.ts';
import { wrongUsage } from './input/values.ts';
import { parseSpan } from './render/ages.ts';

/** Changes the policy of one sandbox and shows what it is then. */
export async function changeEgress(
  context: CliContext,
  change: (egress: RemoteSandboxEgress, words: readonly string[]) => Promise<EgressSpec>,
): Promise<number> {
  const [word, ...given] = context.positionals;
  const words = given.flatMap((one) => (/^[A-Z]/.test(one) ? [one] : one.split(',').filter(Boolean)));
  if (word === undefined || words.length === 0)
    throw wrongUsage('Give one [USER/]CHAT and at least one HOST');
  await using host = await connectHost(context);
  const chat = await host.chat(word);
  const spec = await chat.within(({ egress }) => change(egress, words));
  if (context.json) context.out(JSON.stringify(spec));
  else for (const line of shownEgress(spec)) context.out(line);
  return exitCodes.done;
}

export function spanFrom({ values }: Pick<CliContext, 'values'>): number | undefined {
  const given = text(values, 'for');
  if (given === undefined) return undefined;
  const ms = parseSpan(given);
  if (ms === undefined) throw wrongUsage(`--for ${given} is not a time: 90s, 30m, 2h, 1d`);
  return ms;
}
