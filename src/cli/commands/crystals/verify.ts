import type { RemoteCrystal, RemoteSolves } from '../../../client/solve.ts';
import type { Verdict } from '../../../seams/solve.ts';
import { trustOf } from '../../../seams/solve.ts';
import { type CliCommand, type CliContext, exitCodes } from '../../command.ts';
import { connectHost } from '../../hosting.ts';
import { egressFrom, egressOptions } from '../../input/egress-options.ts';
import { wrongUsage } from '../../input/values.ts';
import { visible } from '../../render/printable.ts';

export const crystalsVerifyCommand: CliCommand = {
  name: 'crystals verify',
  summary: 'Run crystals against their checks again',
  usage: '[OPTION …] ID … | --all',
  examples: [
    ['geode crystals verify 9a1b…', 'a crystal that passes is used again, even if its trust had faded'],
    ['geode crystals verify --all', 'all, each in a fresh sandbox, one after the other'],
    ['geode crystals verify --allow pypi 9a1b…', 'a crystal that needs packages'],
  ],
  options: {
    all: { type: 'boolean', description: 'verify every crystal' },
    allow: { ...egressOptions.allow, description: 'registries to install packages from: pypi, npm, …' },
    bind: egressOptions.bind,
  },
  async run(context) {
    const { json, out, paint } = context;
    await using host = await connectHost(context);
    const { solves } = host.client;
    const ids = await idsFrom(solves, context);
    const found: Verified[] = [];
    for (const id of ids) {
      const verified = await verify(id, solves, context);
      found.push(verified);
      const { crystal, verdict } = verified;
      const label = paint(verdict.label === 'failed' ? 'red' : 'green', verdict.label);
      const trust = trustOf(crystal).toFixed(2);
      if (!json) out(`${crystal.key} ${label}, trust ${trust}: ${visible(verdict.reason)}`);
    }
    if (json) out(JSON.stringify({ verified: found }));
    return found.some(({ verdict }) => verdict.label === 'failed') ? exitCodes.failed : exitCodes.done;
  },
};

interface Verified {
  readonly crystal: Pick<RemoteCrystal, 'key' | 'successes' | 'failures' | 'lastFailure'>;
  readonly verdict: Verdict;
}

async function idsFrom(solves: RemoteSolves, context: CliContext): Promise<readonly string[]> {
  const { positionals, values, signal } = context;
  if (values.all !== true) {
    if (positionals.length === 0) throw wrongUsage('geode crystals verify needs an id, or --all');
    return positionals;
  }
  if (positionals.length > 0) throw wrongUsage('Give ids, or --all');
  return (await solves.crystals({ signal })).map(({ key }) => key);
}

async function verify(id: string, solves: RemoteSolves, { values, signal }: CliContext): Promise<Verified> {
  const egress = await egressFrom(values);
  return solves.verify(id, { ...(egress && { egress }), signal });
}
