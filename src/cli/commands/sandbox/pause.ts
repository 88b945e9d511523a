import type { CliCommand } from '../../command.ts';
import { hostingOptions, toEach } from '../../hosting.ts';

export const sandboxPauseCommand: CliCommand = {
  name: 'sandbox pause',
  summary: 'stop the time of everything in sandboxes, where the runtime can',
  usage: '[OPTION …] [USER/]CHAT …',
  examples: [['geode sandbox pause demo', 'it uses no CPU; its memory and its processes stay as they are']],
  options: hostingOptions,
  run: (context) => toEach(context, (own, chat) => own.pause(chat, { signal: context.signal })),
};
