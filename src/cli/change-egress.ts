/** Changes a policy for `geode egress allow` and `deny`. */
import type { RemoteSandboxEgress } from '../client/egress.ts';
import { commas } from '../contract/egress-rules.ts';
import type { EgressSpec } from '../seams/egress.ts';
import { type CliContext, type CliOption, type CliValues, exitCodes, text, texts } from './command.ts';
import { connectHost } from './hosting.ts';
import { wrongUsage } from './input/values.ts';
import { parseSpan } from './render/ages.ts';
import { shownEgress } from './render/egress.ts';

export const inspectOptions = {
  inspect: { type: 'boolean', description: 'the host opens its TLS and judges each request' },
  method: { type: 'string', multiple: true, value: 'GET,…', description: 'only these methods' },
  path: { type: 'string', multiple: true, value: '/v1/*', description: 'only these paths' },
} as const satisfies Record<string, CliOption>;

/** Rules for a host with the methods and paths of the options: one rule for each path. */
function looked(host: string, values: CliValues): readonly string[] {
  const methods = texts(values, 'method').flatMap((one) => one.toUpperCase().split(',').filter(Boolean));
  const paths = texts(values, 'path');
  const isInspected = values.inspect === true;
  const prefix = isInspected ? 'inspect:' : '';
  if (methods.length === 0 && paths.length === 0) return [`${prefix}${host}`];
  if (/[\s/]/.test(host)) throw wrongUsage(`--method and --path go with a HOST, not with ${host}`);
  const start = `${prefix}${methods.length === 0 ? '' : `${methods.join(',')} `}${isInspected ? 'https' : 'http'}://${host}`;
  return paths.length === 0 ? [start] : paths.map((path) => `${start}${path}`);
}

/** Changes the policy of one sandbox and prints the new policy. */
export async function changeEgress(
  context: CliContext,
  change: (egress: RemoteSandboxEgress, words: readonly string[]) => Promise<EgressSpec>,
): Promise<number> {
  const [word, ...given] = context.positionals;
  const words = commas(given).flatMap((one) => looked(one, context.values));
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
