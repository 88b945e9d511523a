import type { CliCommand } from '../../command.ts';
import { hostingOptions, toEach } from '../../hosting.ts';

export const sandboxStartCommand: CliCommand = {
  name: 'sandbox start',
  summary: 'start sandboxes that were stopped, with their files',
  usage: '[OPTION …] [USER/]CHAT …',
  examples: [['geode sandbox start demo', 'one that runs already is left as it is']],
  options: hostingOptions,
  run: (context) => toEach(context, (own, chat) => own.start(chat, { signal: context.signal })),
};
