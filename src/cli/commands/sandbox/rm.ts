import { type CliCommand, exitCodes } from '../../command.ts';
import { connectHost, hostingOptions } from '../../hosting.ts';
import { shownName } from '../../input/chat-name.ts';
import { somePositionals } from '../../input/values.ts';

export const sandboxRmCommand: CliCommand = {
  name: 'sandbox rm',
  summary: 'Remove sandboxes with their files and journals',
  usage: '[OPTION …] [USER/]CHAT …',
  examples: [['geode sandbox rm demo', 'removes it even if it is running']],
  options: hostingOptions,
  async run(context) {
    const { json, out, signal } = context;
    const words = somePositionals(context, '[USER/]CHAT');
    await using host = await connectHost(context);
    for (const word of words) {
      const { name, ask, missing } = await host.chat(word);
      if (!(await ask((own, chat) => own.remove(chat, { signal })))) throw await missing();
      out(json ? JSON.stringify({ ...name, removed: true }) : `${shownName(name)}: removed`);
    }
    return exitCodes.done;
  },
};
