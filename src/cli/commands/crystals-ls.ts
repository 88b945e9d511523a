import { type Crystal, trustOf } from '../../solve/crystal.ts';
import { type CliCommand, exitCodes } from '../command.ts';
import { solvesFor } from '../hosted-solves.ts';
import { visible } from '../printable.ts';
import { table } from '../table.ts';
import { wrongUsage } from '../values.ts';

export const crystalsLsCommand: CliCommand = {
  name: 'crystals ls',
  summary: 'list what was kept of solved problems, newest first',
  usage: '[OPTION …]',
  examples: [['geode crystals ls', 'with how far each is trusted']],
  options: {},
  host: 'needed',
  async run(context) {
    const { positionals, json, out } = context;
    if (positionals.length > 0) throw wrongUsage(`geode crystals ls takes no ${positionals.join(' ')}`);
    await using opened = await solvesFor(context);
    const crystals = await opened.crystals.list();
    const shown = (crystal: Crystal) => ({
      ...crystal,
      trust: trustOf(crystal),
      standing: opened.crystals.standing(crystal),
    });
    if (json) out(JSON.stringify({ crystals: crystals.map(shown) }));
    else if (crystals.length === 0) out('No crystals yet. A solve whose result was verified leaves one.');
    else {
      const rows = crystals.map((crystal) => [
        crystal.key.replace('crystallized:', ''),
        trustOf(crystal).toFixed(2),
        opened.crystals.standing(crystal),
        crystal.language,
        visible(crystal.problem.replaceAll('\n', ' ').slice(0, 60)),
      ]);
      for (const line of table([['ID', 'TRUST', 'STANDING', 'LANGUAGE', 'PROBLEM'], ...rows])) out(line);
    }
    return exitCodes.done;
  },
};
