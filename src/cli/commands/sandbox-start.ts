import { type CliCommand, exitCodes } from '../command.ts';
import { becomeHost, hostingOptions } from '../hosting.ts';
import { showStatus } from '../show-status.ts';
import { somePositionals } from '../values.ts';

export const sandboxStartCommand: CliCommand = {
  name: 'sandbox start',
  summary: 'start sandboxes that were stopped, with their files',
  usage: '[OPTION …] [USER/]CHAT …',
  examples: [['geode sandbox start demo', 'one that runs already is left as it is']],
  options: hostingOptions,
  async run(context) {
    const words = somePositionals(context, '[USER/]CHAT');
    await using host = await becomeHost(context);
    for (const word of words) {
      const chat = await host.chat(word);
      await chat.start();
      showStatus(await chat.ask((own, name) => own.inspect(name)), context);
    }
    return exitCodes.done;
  },
};
