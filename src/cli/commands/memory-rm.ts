import { GeodeError } from '../../core/errors.ts';
import { type CliCommand, parseValues } from '../command.ts';
import { userOption, userValues } from '../memory-options.ts';
import { openLocalMemory } from '../open-memory.ts';

export const command: CliCommand = {
  name: 'memory rm',
  summary: 'Forget entries and their versions',
  examples: ['geode memory rm notes/deploy'],
  positionals: '<id…>',
  options: userOption,
  async run(context) {
    const { values, positionals, json, out } = context;
    const { user } = parseValues(userValues, values);
    if (positionals.length === 0) throw new GeodeError('invalid_input', 'Give at least one id');
    await using local = await openLocalMemory(context);
    const memory = local.store.in(user);
    const removed: string[] = [];
    const unknown: string[] = [];
    for (const id of positionals) ((await memory.forget(id)) ? removed : unknown).push(id);
    out(json ? JSON.stringify({ removed, unknown }) : removed.map((id) => `removed ${id}`).join('\n'));
    if (unknown.length > 0)
      throw new GeodeError('entry_not_found', `There is no entry ${unknown.join(', ')}`);
    return 0;
  },
};
