import { type CliCommand, exitCodes } from '../../command.ts';
import { onePositional } from '../../input/values.ts';
import { printableLine } from '../../render/printable.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const agentInterruptCommand: CliCommand = {
  name: 'agent interrupt',
  summary: 'end what an agent is doing; the conversation stays',
  usage: 'CHAT',
  examples: [['geode agent interrupt demo', 'its commands have ended when this returns']],
  options: { ...forUserOption },
  async run(context) {
    const chat = onePositional(context, 'CHAT');
    const interrupted = await userClient(context).agents.interrupt(chat, { signal: context.signal });
    const name = printableLine(chat);
    if (context.json) context.out(JSON.stringify({ interrupted }));
    else context.out(interrupted ? `${name}: interrupted` : `${name}: nothing was running`);
    return exitCodes.done;
  },
};
