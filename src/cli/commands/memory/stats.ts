import { type CliCommand, exitCodes } from '../../command.ts';
import { openLocalMemory } from '../../connect/local-memory.ts';
import { userOption } from '../../input/memory-options.ts';
import { userValues } from '../../input/memory-values.ts';
import { parseValues } from '../../input/values.ts';

export const memoryStatsCommand: CliCommand = {
  name: 'memory stats',
  summary: 'Show counts and the state of memory',
  usage: '',
  examples: [['geode memory stats', 'shows counts, sizes, the model and the state of each part']],
  options: userOption,
  async run(context) {
    const { json, out } = context;
    const { user } = parseValues(userValues, context);
    await using local = await openLocalMemory(context);
    const [counts, stats, health] = await Promise.all([
      local.store.in(user).count(),
      local.store.stats(),
      local.store.health(),
    ]);
    if (json) {
      out(
        JSON.stringify({
          user,
          categories: Object.fromEntries(counts),
          store: local.store.name,
          ...stats,
          health,
        }),
      );
      return exitCodes.done;
    }
    const rows: [string, string][] = [
      ...[...counts].map(([name, count]): [string, string] => [name, String(count)]),
      ['all users', `${stats.entries} entries, ${stats.versions} earlier versions, ${stats.vectors} vectors`],
      ['on disk', `${(stats.bytesOnDisk / 1e6).toFixed(1)} MB (${local.store.name})`],
      ['model', `${stats.model}, ${stats.dimensions} dimensions`],
      ['state', `${health.state}, ${health.pending} to index`],
      ...health.parts.map(({ name, state, detail }): [string, string] => [
        `  ${name}`,
        `${state}: ${detail}`,
      ]),
    ];
    const width = Math.max(...rows.map(([name]) => name.length));
    out(rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n'));
    return exitCodes.done;
  },
};
