import { trustOf } from '../../solve/crystal.ts';
import { type CliCommand, exitCodes } from '../command.ts';
import { solvesFor } from '../hosted-solves.ts';
import { visible } from '../printable.ts';
import { wrongUsage } from '../values.ts';

export const crystalsShowCommand: CliCommand = {
  name: 'crystals show',
  summary: 'show a crystal: problem, errors met, solution, trust',
  usage: '[OPTION …] ID',
  examples: [['geode crystals show 9a1b…', 'the id stands in geode crystals ls']],
  options: {},
  host: 'needed',
  async run(context) {
    const { positionals, json, out, paint } = context;
    const [id, ...more] = positionals;
    if (id === undefined || more.length > 0) throw wrongUsage('geode crystals show takes one id');
    await using opened = await solvesFor(context);
    const crystal = await opened.crystals.get(id);
    const trust = trustOf(crystal);
    const standing = opened.crystals.standing(crystal);
    if (json) {
      out(JSON.stringify({ ...crystal, trust, standing }));
      return exitCodes.done;
    }
    out(visible(crystal.problem));
    for (const error of crystal.errors) out(paint('dim', `met: ${visible(error)}`));
    out('');
    out(visible(crystal.solution.trimEnd()));
    out('');
    const doubt = crystal.lastFailure === null ? '' : `; last failure: ${visible(crystal.lastFailure)}`;
    out(
      `${standing}, trust ${trust.toFixed(2)} (${crystal.successes} right, ${crystal.failures} wrong${doubt})`,
    );
    return exitCodes.done;
  },
};
