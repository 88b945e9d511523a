import type { WireNewEntry } from '../../api/schemas.ts';
import { filterOf } from '../../api/wire.ts';

import { type Entry, limits, type Memory } from '../../core/memory.ts';
import { type CliCommand, parseValues } from '../command.ts';
import { filterOptions, filterValues } from '../memory-options.ts';
import { openLocalMemory } from '../open-memory.ts';

export const command: CliCommand = {
  name: 'memory export',
  summary: 'Write entries as lines of JSON that `memory import` reads',
  examples: ['geode memory export > memory.ndjson', 'geode memory export -c project > project.ndjson'],
  options: filterOptions,
  async run(context) {
    const { values, out, signal } = context;
    const options = parseValues(filterValues, values);
    await using local = await openLocalMemory(context);
    for await (const entry of allOf(local.store.in(options.user), filterOf(options))) {
      signal.throwIfAborted();
      out(JSON.stringify(exported(entry)));
    }
    return 0;
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
