import type { RemoteSolve } from '../../../client/solve.ts';
import { type CliCommand, type CliContext, exitCodes } from '../../command.ts';
import { connectHost } from '../../hosting.ts';
import { wrongUsage } from '../../input/values.ts';
import { visible } from '../../render/printable.ts';

export const solveShowCommand: CliCommand = {
  name: 'solve show',
  summary: 'Show the attempts of a solve',
  usage: '[OPTION …] ID',
  examples: [['geode solve show 3f6c…', 'geode solve ls lists the ids']],
  options: {},
  async run(context) {
    const { positionals, json, out } = context;
    const [id, ...more] = positionals;
    if (id === undefined || more.length > 0) throw wrongUsage('geode solve show takes one id');
    await using host = await connectHost(context);
    const solve = await host.client.solves.get(id, { signal: context.signal });
    if (json) {
      out(JSON.stringify(solve));
      return exitCodes.done;
    }
    out(visible(solve.problem));
    for (const attempt of solve.attempts) showAttempt(attempt, context);
    const { result, state } = solve;
    out('');
    out(result === null ? `It is ${state}.` : `${result.outcome}: ${visible(result.reason)}`);
    return exitCodes.done;
  },
};

function showAttempt(attempt: RemoteSolve['attempts'][number], { out, paint }: CliContext): void {
  const { number, origin, state, cost, code, run, verdict, reflection } = attempt;
  const by = origin === 'crystal' ? ', an earlier solution' : '';
  out('');
  out(paint('bold', `Attempt ${number}${by}: ${state}${cost > 0 ? ` ($${cost.toFixed(4)})` : ''}`));
  if (code) out(visible(code.trimEnd()));
  for (const text of [run?.stdout, run?.stderr]) if (text?.trim()) out(paint('dim', visible(text.trimEnd())));
  if (verdict !== null) out(`Verdict: ${visible(verdict.reason)}`);
  if (reflection !== null) out(`Learned: ${visible(`${reflection.cause} ${reflection.change}`)}`);
}
