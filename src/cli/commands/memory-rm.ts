import { GeodeError } from '../../core/errors.ts';
import { type CliCommand, exitCodes } from '../command.ts';
import { openLocalMemory } from '../local-files.ts';
import { userOption, userValues } from '../memory-options.ts';
import { parseValues, somePositionals } from '../values.ts';

export const memoryRmCommand: CliCommand = {
  name: 'memory rm',
  summary: 'forget entries and their versions',
  usage: 'ID …',
  examples: [['geode memory rm notes/deploy', 'forget it for good']],
  options: userOption,
  async run(context) {
    const { json, out } = context;
    const ids = somePositionals(context, 'id');
    const { user } = parseValues(userValues, context);
    await using local = await openLocalMemory(context);
    const memory = local.store.in(user);
    const removed: string[] = [];
    const unknown: string[] = [];
    for (const id of ids) ((await memory.forget(id)) ? removed : unknown).push(id);
    if (json) out(JSON.stringify({ removed, unknown }));
    else for (const id of removed) out(`removed ${id}`);
    if (unknown.length === 0) return exitCodes.done;
    if (json) return exitCodes.failed;
    throw new GeodeError('entry_not_found', `There is no entry ${unknown.join(', ')}`);
  },
};
