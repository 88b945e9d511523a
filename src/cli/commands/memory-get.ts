import { z } from 'zod';
import { wireEntry, wireVersion } from '../../api/wire.ts';
import { GeodeError } from '../../core/errors.ts';
import { type CliCommand, onePositional, parseValues } from '../command.ts';
import { userOption, userValues } from '../memory-options.ts';
import { openLocalMemory } from '../open-memory.ts';
import { renderEntry, renderVersion } from '../render-entries.ts';

export const command: CliCommand = {
  name: 'memory get',
  summary: 'Read an entry',
  examples: ['geode memory get notes/deploy', 'geode memory get notes/deploy --versions --json'],
  positionals: '<id>',
  options: { ...userOption, versions: { type: 'boolean', description: 'Show the earlier versions too' } },
  async run(context) {
    const { user, versions } = parseValues(getValues, context.values);
    const id = onePositional(context, 'id');
    await using local = await openLocalMemory(context);
    const memory = local.store.in(user);
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
    return 0;
  },
};

const getValues = userValues.extend({ versions: z.boolean().default(false) });
