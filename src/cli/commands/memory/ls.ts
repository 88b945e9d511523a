import { filterOf, wireEntry } from '../../../contract/memory-values.ts';
import { type CliCommand, exitCodes } from '../../command.ts';
import { openLocalMemory } from '../../connect/local-memory.ts';
import { filterOptions, namespaceOf, pagingOptions } from '../../input/memory-options.ts';
import { filterValues } from '../../input/memory-values.ts';
import { parseValues } from '../../input/values.ts';
import { renderPage } from '../../render/render-entries.ts';

export const memoryLsCommand: CliCommand = {
  name: 'memory ls',
  summary: 'List entries, newest first',
  usage: '',
  examples: [
    ['geode memory ls -c project', 'one category'],
    ['geode memory ls -n 100 --offset 100', 'entries 101 to 200'],
  ],
  options: { ...filterOptions, ...pagingOptions },
  async run(context) {
    const { json, out } = context;
    const options = parseValues(filterValues, context);
    await using local = await openLocalMemory(context);
    const page = await local.store.in(namespaceOf(options)).list(filterOf(options));
    out(
      json
        ? JSON.stringify({ entries: page.entries.map(wireEntry), total: page.total })
        : renderPage(page, options.offset ?? 0),
    );
    return exitCodes.done;
  },
};
