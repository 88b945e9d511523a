import type { WireNewEntry } from '../../api/schemas.ts';
import { filterOf } from '../../api/wire.ts';

import { GeodeError } from '../../core/errors.ts';
import { type Entry, limits, type Memory } from '../../core/memory.ts';
import { type CliCommand, exitCodes } from '../command.ts';
import { openLocalMemory } from '../local-files.ts';
import { filterOptions, filterValues } from '../memory-options.ts';
import { parseValues } from '../values.ts';

export const memoryExportCommand: CliCommand = {
  name: 'memory export',
  summary: 'write entries as lines of JSON',
  usage: '',
  examples: [
    ['geode memory export > memory.ndjson', 'everything that `memory import` can read back'],
    ['geode memory export -c project > project.ndjson', 'one category'],
  ],
  options: filterOptions,
  async run(context) {
    const { out, signal } = context;
    const options = parseValues(filterValues, context);
    await using local = await openLocalMemory(context);
    for await (const entry of allOf(local.store.in(options.user), filterOf(options))) {
      if (signal.aborted) throw new GeodeError('cancelled', 'The export was cancelled');
      out(JSON.stringify(exported(entry)));
    }
    return exitCodes.done;
  },
};

async function* allOf(memory: Memory, filter: ReturnType<typeof filterOf>): AsyncGenerator<Entry> {
  for (let offset = 0; ; offset += limits.resultsPerPage) {
    const { entries } = await memory.list({ ...filter, limit: limits.resultsPerPage, offset });
    yield* entries;
    if (entries.length < limits.resultsPerPage) return;
  }
}

function exported(entry: Entry): WireNewEntry {
  return {
    id: entry.key,
    content: entry.content,
    category: entry.category,
    source: entry.sources[0] ?? 'export',
    tags: [...entry.tags],
    identifiers: [...entry.identifiers],
    ...(entry.validUntil && { valid_until: entry.validUntil.toISOString() }),
  };
}
