import { denying } from '../../egress/change-policy.ts';
import { changeEgress } from '../change-egress.ts';
import type { CliCommand } from '../command.ts';
import { hostingOptions } from '../hosting.ts';

export const egressDenyCommand: CliCommand = {
  name: 'egress deny',
  summary: 'keep a sandbox from a host, at once; deny always wins',
  usage: '[OPTION …] [USER/]CHAT HOST|PRESET …',
  examples: [
    ['geode egress deny demo example.com', 'connections that are open are cut'],
    ['geode egress deny demo "*"', 'it may reach nothing any more'],
  ],
  options: hostingOptions,
  host: 'needed',
  run: (context) => changeEgress(context, (policy, words) => denying(policy, words)),
};
