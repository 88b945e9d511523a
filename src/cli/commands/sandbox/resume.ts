import type { CliCommand } from '../../command.ts';
import { sandboxStartCommand } from './start.ts';

export const sandboxResumeCommand: CliCommand = {
  ...sandboxStartCommand,
  name: 'sandbox resume',
  summary: 'let paused sandboxes go on where they were',
  examples: [['geode sandbox resume demo', 'any command that works in it does the same']],
};
