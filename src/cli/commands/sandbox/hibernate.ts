import type { CliCommand } from '../../command.ts';
import { hostingOptions, toEach } from '../../hosting.ts';

export const sandboxHibernateCommand: CliCommand = {
  name: 'sandbox hibernate',
  summary: 'Save the memory of sandboxes on disk and free it',
  usage: '[OPTION …] [USER/]CHAT …',
  examples: [
    ['geode sandbox hibernate demo', 'the next command in demo wakes it, with every process as it was'],
  ],
  options: hostingOptions,
  run: (context) => toEach(context, (own, chat) => own.hibernate(chat, { signal: context.signal })),
};
