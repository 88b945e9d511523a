import { type CliCommand, exitCodes } from '../../command.ts';
import { onePositional } from '../../input/values.ts';
import { printableLine } from '../../render/printable.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const agentInterruptCommand: CliCommand = {
  name: 'agent interrupt',
  summary: 'Stop the current turn',
  usage: 'CHAT',
  examples: [['geode agent interrupt demo', 'returns after its commands have ended']],
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
