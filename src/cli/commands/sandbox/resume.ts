import type { CliCommand } from '../../command.ts';
import { sandboxStartCommand } from './start.ts';

export const sandboxResumeCommand: CliCommand = {
  ...sandboxStartCommand,
  name: 'sandbox resume',
  summary: 'Resume paused sandboxes',
  examples: [['geode sandbox resume demo', 'any command that uses the sandbox resumes it too']],
};
