import { type CliCommand, parseValues } from '../command.ts';
import { userOption, userValues } from '../memory-options.ts';
import { openLocalMemory } from '../open-memory.ts';

export const command: CliCommand = {
  name: 'memory stats',
  summary: 'Count entries, and say how memory is doing',
  examples: ['geode memory stats', 'geode memory stats --json'],
  options: userOption,
  async run(context) {
    const { values, json, out } = context;
    const { user } = parseValues(userValues, values);
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
      return 0;
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
    return 0;
  },
};
