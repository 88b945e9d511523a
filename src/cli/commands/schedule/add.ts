import { type CliCommand, exitCodes } from '../../command.ts';
import { wrongUsage } from '../../input/values.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const scheduleAddCommand: CliCommand = {
  name: 'schedule add',
  summary: 'Schedule a message',
  usage: 'CHAT WHEN TEXT [OPTION …]',
  examples: [
    [
      'geode schedule add plans "0 9 * * 1-5 Europe/Berlin" "sum up the news"',
      'sends it on weekday mornings',
    ],
    ['geode schedule add plans "in 20m" "is the build green?"', 'sends it once'],
    ['geode schedule add plans "every 2h" "look at the queue" --skip-missed', 'leaves out missed times'],
  ],
  options: {
    'skip-missed': {
      type: 'boolean',
      description: 'skip times missed while no host ran (default: run once for all of them)',
    },
    ...forUserOption,
  },
  async run(context) {
    const { positionals, values, json, out, signal } = context;
    const [chat, when, text, ...more] = positionals;
    if (chat === undefined || when === undefined || text === undefined || more.length > 0)
      throw wrongUsage('geode schedule add takes CHAT, WHEN and TEXT; quote values that have spaces');
    const catchUp = values['skip-missed'] === true ? 'skip' : 'once';
    const made = await userClient(context).chats.schedule(chat, { when, text, catchUp }, { signal });
    if (json) out(JSON.stringify(made));
    else out(`Schedule ${made.id}: next at ${new Date(made.next).toISOString()}.`);
    return exitCodes.done;
  },
};
