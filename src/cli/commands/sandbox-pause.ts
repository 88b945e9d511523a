import { type CliCommand, exitCodes } from '../command.ts';
import { becomeHost, hostingOptions } from '../hosting.ts';
import { showStatus } from '../show-status.ts';
import { somePositionals } from '../values.ts';

export const sandboxPauseCommand: CliCommand = {
  name: 'sandbox pause',
  summary: 'stop the time of everything in sandboxes, where the runtime can',
  usage: '[OPTION …] [USER/]CHAT …',
  examples: [['geode sandbox pause demo', 'it uses no CPU; its memory and its processes stay as they are']],
  options: hostingOptions,
  async run(context) {
    const words = somePositionals(context, '[USER/]CHAT');
    await using host = await becomeHost(context);
    for (const word of words) {
      const chat = await host.chat(word);
      await chat.ask((own, name) => own.pause(name, { signal: context.signal }));
      showStatus(await chat.ask((own, name) => own.inspect(name)), context);
    }
    return exitCodes.done;
  },
};
