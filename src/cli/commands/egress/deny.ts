import { changeEgress, inspectOptions } from '../../change-egress.ts';
import type { CliCommand } from '../../command.ts';
import { hostingOptions } from '../../hosting.ts';

export const egressDenyCommand: CliCommand = {
  name: 'egress deny',
  summary: 'keep a sandbox from a host, at once; deny always wins',
  usage: '[OPTION …] [USER/]CHAT HOST|PRESET …',
  examples: [
    ['geode egress deny demo example.com', 'connections that are open are cut'],
    [
      'geode egress deny --inspect --method POST,PUT,DELETE demo api.example.com',
      'reading is left as it is: the host opens its TLS',
    ],
    ['geode egress deny demo "*"', 'it may reach nothing any more'],
  ],
  options: { ...hostingOptions, ...inspectOptions },
  run: (context) => changeEgress(context, (egress, words) => egress.deny(words, { signal: context.signal })),
};
