import { changeEgress, inspectOptions } from '../../change-egress.ts';
import type { CliCommand } from '../../command.ts';
import { hostingOptions } from '../../hosting.ts';

export const egressDenyCommand: CliCommand = {
  name: 'egress deny',
  summary: 'Deny a sandbox access to a host',
  usage: '[OPTION …] [USER/]CHAT HOST|PRESET …',
  examples: [
    ['geode egress deny demo example.com', 'closes open connections too'],
    [
      'geode egress deny --inspect --method POST,PUT,DELETE demo api.example.com',
      'denies writing, not reading; the host decrypts the TLS',
    ],
    ['geode egress deny demo "*"', 'denies everything'],
  ],
  options: { ...hostingOptions, ...inspectOptions },
  run: (context) => changeEgress(context, (egress, words) => egress.deny(words, { signal: context.signal })),
};
