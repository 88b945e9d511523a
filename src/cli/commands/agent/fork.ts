import { type CliCommand, exitCodes, text } from '../../command.ts';
import { wrongUsage } from '../../input/values.ts';
import { printableLine } from '../../render/printable.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const agentForkCommand: CliCommand = {
  name: 'agent fork',
  summary: 'Copy a conversation and its files into a new chat',
  usage: '[OPTION …] CHAT NEW-CHAT',
  examples: [
    ['geode agent fork demo try', 'try knows everything that demo knows'],
    ['geode agent fork --before 3f2a… demo try', 'as if the message of that turn had not been sent'],
  ],
  options: {
    before: {
      type: 'string',
      value: 'TURN',
      description: 'leave out this turn and all later ones; the id is in `geode replay CHAT --json`',
    },
    ...forUserOption,
  },
  async run(context) {
    const [chat, to, ...more] = context.positionals;
    if (chat === undefined || to === undefined || more.length > 0)
      throw wrongUsage('Give one CHAT and the new chat');
    const before = text(context.values, 'before');
    const forked = await userClient(context).agents.fork(chat, to, { before, signal: context.signal });
    if (context.json) context.out(JSON.stringify(forked));
    else context.out(`${printableLine(to)}: a copy of ${printableLine(chat)}, turns: ${forked.turns}`);
    return exitCodes.done;
  },
};
