import type { CliCommand } from '../../command.ts';
import { hostingOptions, toEach } from '../../hosting.ts';

export const sandboxStopCommand: CliCommand = {
  name: 'sandbox stop',
  summary: 'Stop sandboxes and keep their files',
  usage: '[OPTION …] [USER/]CHAT …',
  examples: [['geode sandbox stop demo alice/demo', 'asks processes to exit, then kills them']],
  options: hostingOptions,
  run: (context) => toEach(context, (own, chat) => own.stop(chat, { signal: context.signal })),
};
