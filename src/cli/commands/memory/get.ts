import { z } from 'zod';
import { GeodeError } from '../../../base/errors.ts';
import { wireEntry, wireVersion } from '../../../contract/memory-values.ts';
import { type CliCommand, exitCodes } from '../../command.ts';
import { openLocalMemory } from '../../connect/local-memory.ts';
import { memoryOptions, namespaceOf } from '../../input/memory-options.ts';
import { placeValues } from '../../input/memory-values.ts';
import { onePositional, parseValues } from '../../input/values.ts';
import { renderEntry, renderVersion } from '../../render/render-entries.ts';

export const memoryGetCommand: CliCommand = {
  name: 'memory get',
  summary: 'Show an entry',
  usage: 'ID',
  examples: [
    ['geode memory get notes/deploy', 'the current version'],
    ['geode memory get notes/deploy --versions', 'earlier versions too'],
  ],
  options: { ...memoryOptions, versions: { type: 'boolean', description: 'show earlier versions too' } },
  async run(context) {
    const { versions, ...place } = parseValues(getValues, context);
    const id = onePositional(context, 'id');
    await using local = await openLocalMemory(context);
    const memory = local.store.in(namespaceOf(place));
    const entry = await memory.get(id);
    if (!entry) throw new GeodeError('entry_not_found', `There is no entry ${JSON.stringify(id)}`);
    const history = versions ? await memory.history(id) : [];
    if (context.json) {
      context.out(
        JSON.stringify({ ...wireEntry(entry), ...(versions && { versions: history.map(wireVersion) }) }),
      );
    } else {
      context.out([renderEntry(entry), ...history.map(renderVersion)].join('\n\n'));
    }
    return exitCodes.done;
  },
};

const getValues = placeValues.extend({ versions: z.boolean().default(false) });
