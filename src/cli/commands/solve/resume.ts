import type { CliCommand } from '../../command.ts';
import { connectHost } from '../../hosting.ts';
import { wrongUsage } from '../../input/values.ts';
import { showSolve } from '../../render/show-solve.ts';

export const solveResumeCommand: CliCommand = {
  name: 'solve resume',
  summary: 'Resume an interrupted solve',
  usage: '[OPTION …] ID',
  examples: [['geode solve resume 3f6c…', 'geode solve ls lists the ids; nothing is paid for twice']],
  options: { quiet: { type: 'boolean', short: 'q', description: 'print only the solution' } },
  async run(context) {
    const [id, ...more] = context.positionals;
    if (id === undefined || more.length > 0) throw wrongUsage('geode solve resume takes one id');
    await using host = await connectHost(context);
    return await showSolve(host.client.solves.resume(id, { signal: context.signal }), context);
  },
};
