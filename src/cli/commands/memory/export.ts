import { throwIfCancelled } from '../../../base/cancel.ts';
import { filterOf } from '../../../contract/memory-values.ts';
import { type CliCommand, exitCodes } from '../../command.ts';
import { openLocalMemory } from '../../connect/local-memory.ts';
import { filterOptions } from '../../input/memory-options.ts';
import { filterValues } from '../../input/memory-values.ts';
import { parseValues } from '../../input/values.ts';
import { lineOf } from '../../render/kept-lines.ts';

export const memoryExportCommand: CliCommand = {
  name: 'memory export',
  summary: 'Export entries and their history as lines of JSON',
  usage: '',
  examples: [
    ['geode memory export > memory.ndjson', 'everything; `memory import` reads it back'],
    ['geode memory export -c project > project.ndjson', 'one category'],
  ],
  options: filterOptions,
  async run(context) {
    const { out, signal } = context;
    const options = parseValues(filterValues, context);
    await using local = await openLocalMemory(context);
    for await (const entry of local.store.in(options.user).export(filterOf(options))) {
      throwIfCancelled(signal, 'The export');
      out(lineOf(entry));
    }
    return exitCodes.done;
  },
};
