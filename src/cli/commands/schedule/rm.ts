import { GeodeError } from '../../../base/errors.ts';
import { type CliCommand, exitCodes } from '../../command.ts';
import { wrongUsage } from '../../input/values.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const scheduleRmCommand: CliCommand = {
  name: 'schedule rm',
  summary: 'Remove a schedule',
  usage: 'ID [OPTION …]',
  examples: [['geode schedule rm 4f2k', 'stops its messages']],
  options: { ...forUserOption },
  async run(context) {
    const { positionals, json, out, signal } = context;
    const [id, ...more] = positionals;
    if (id === undefined || more.length > 0) throw wrongUsage('geode schedule rm takes one ID');
    const removed = await userClient(context).chats.unschedule(id, { signal });
    if (!removed) throw new GeodeError('schedule_not_found', `There is no schedule ${id}.`);
    if (json) out(JSON.stringify({ removed }));
    else out(`Removed schedule ${id}.`);
    return exitCodes.done;
  },
};
