import type { CliCommand } from '../../command.ts';
import { hostingOptions, toEach } from '../../hosting.ts';

export const sandboxPauseCommand: CliCommand = {
  name: 'sandbox pause',
  summary: 'Pause sandboxes',
  usage: '[OPTION …] [USER/]CHAT …',
  examples: [['geode sandbox pause demo', 'freezes its processes; they keep their memory and use no CPU']],
  options: hostingOptions,
  run: (context) => toEach(context, (own, chat) => own.pause(chat, { signal: context.signal })),
};
