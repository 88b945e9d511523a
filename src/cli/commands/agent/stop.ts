import { type CliCommand, exitCodes } from '../../command.ts';
import { onePositional } from '../../input/values.ts';
import { printableLine } from '../../render/printable.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const agentStopCommand: CliCommand = {
  name: 'agent stop',
  summary: 'end a conversation and forget it; the sandbox and its files stay',
  usage: 'CHAT',
  examples: [['geode agent stop demo', 'the next message begins anew']],
  options: { ...forUserOption },
  async run(context) {
    const chat = onePositional(context, 'CHAT');
    const stopped = await userClient(context).agents.stop(chat, { signal: context.signal });
    const name = printableLine(chat);
    if (context.json) context.out(JSON.stringify({ stopped }));
    else context.out(stopped ? `${name}: forgotten` : `${name}: there was no conversation`);
    return exitCodes.done;
  },
};
