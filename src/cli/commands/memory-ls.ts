import { filterOf, wireEntry } from '../../api/wire.ts';
import { type CliCommand, parseValues } from '../command.ts';
import { filterOptions, filterValues, pagingOptions } from '../memory-options.ts';
import { openLocalMemory } from '../open-memory.ts';
import { renderPage } from '../render-entries.ts';

export const command: CliCommand = {
  name: 'memory ls',
  summary: 'List entries, newest first',
  examples: ['geode memory ls -c project', 'geode memory ls -n 100 --json'],
  options: { ...filterOptions, ...pagingOptions },
  async run(context) {
    const { values, json, out } = context;
    const options = parseValues(filterValues, values);
    await using local = await openLocalMemory(context);
    const page = await local.store.in(options.user).list(filterOf(options));
    out(
      json
        ? JSON.stringify({ entries: page.entries.map(wireEntry), total: page.total })
        : renderPage(page, options.offset ?? 0),
    );
    return 0;
  },
};
