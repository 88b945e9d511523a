import type { CliCommand } from '../command.ts';
import { solvesFor } from '../hosted-solves.ts';
import { showSolve } from '../show-solve.ts';
import { wrongUsage } from '../values.ts';

export const solveResumeCommand: CliCommand = {
  name: 'solve resume',
  summary: 'go on with a solve that was interrupted; nothing is paid for twice',
  usage: '[OPTION …] ID',
  examples: [['geode solve resume 3f6c…', 'the id stands in geode solve ls']],
  options: { quiet: { type: 'boolean', short: 'q', description: 'only the solution, on stdout' } },
  host: 'needed',
  async run(context) {
    const [id, ...more] = context.positionals;
    if (id === undefined || more.length > 0) throw wrongUsage('geode solve resume takes one id');
    await using opened = await solvesFor(context);
    return await showSolve(opened.solves.resume(id, { signal: context.signal }), context);
  },
};
