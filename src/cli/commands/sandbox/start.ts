import type { CliCommand } from '../../command.ts';
import { hostingOptions, toEach } from '../../hosting.ts';

export const sandboxStartCommand: CliCommand = {
  name: 'sandbox start',
  summary: 'Start stopped sandboxes',
  usage: '[OPTION …] [USER/]CHAT …',
  examples: [['geode sandbox start demo', 'does nothing if it is already running']],
  options: hostingOptions,
  run: (context) => toEach(context, (own, chat) => own.start(chat, { signal: context.signal })),
};
