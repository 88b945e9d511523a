import { type CliCommand, exitCodes } from '../../command.ts';
import { onePositional } from '../../input/values.ts';
import { printableLine } from '../../render/printable.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const agentStopCommand: CliCommand = {
  name: 'agent stop',
  summary: 'End and delete a conversation; keep the files',
  usage: 'CHAT',
  examples: [['geode agent stop demo', 'the next message starts a new conversation']],
  options: { ...forUserOption },
  async run(context) {
    const chat = onePositional(context, 'CHAT');
    const stopped = await userClient(context).agents.stop(chat, { signal: context.signal });
    const name = printableLine(chat);
    if (context.json) context.out(JSON.stringify({ stopped }));
    else context.out(stopped ? `${name}: forgotten` : `${name}: there is no such conversation`);
    return exitCodes.done;
  },
};
