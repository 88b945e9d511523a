import { type CliCommand, exitCodes } from '../command.ts';
import { becomeHost, hostingOptions } from '../hosting.ts';
import { showStatus } from '../show-status.ts';
import { somePositionals } from '../values.ts';

export const sandboxStopCommand: CliCommand = {
  name: 'sandbox stop',
  summary: 'end what runs in sandboxes and keep their files',
  usage: '[OPTION …] [USER/]CHAT …',
  examples: [['geode sandbox stop demo alice/demo', 'processes are asked to end first, then made to']],
  options: hostingOptions,
  async run(context) {
    const words = somePositionals(context, '[USER/]CHAT');
    await using host = await becomeHost(context);
    for (const word of words) {
      const chat = await host.chat(word);
      await chat.ask((own, name) => own.stop(name, { signal: context.signal }));
      showStatus(await chat.ask((own, name) => own.inspect(name)), context);
    }
    return exitCodes.done;
  },
};
