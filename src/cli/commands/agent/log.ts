import { z } from 'zod';
import { decimal } from '../../../contract/decimal.ts';
import type { CliCommand } from '../../command.ts';
import { onePositional, parseValues } from '../../input/values.ts';
import { showAgent } from '../../render/show-agent.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const agentLogCommand: CliCommand = {
  name: 'agent log',
  summary: 'Show what an agent wrote and did',
  usage: 'CHAT [OPTION …]',
  examples: [
    ['geode agent log demo', 'every stored event'],
    [
      'geode agent log demo --follow --after 120 --json',
      'events after number 120, then new ones as they happen',
    ],
  ],
  options: {
    after: { type: 'string', value: 'NUMBER', description: 'only events after this number' },
    follow: { type: 'boolean', short: 'f', description: 'wait for new events' },
    quiet: { type: 'boolean', short: 'q', description: 'print only the text of the agent' },
    ...forUserOption,
  },
  async run(context) {
    const chat = onePositional(context, 'CHAT');
    const { after, follow } = parseValues(values, context);
    const events = userClient(context).agents.events(chat, { after, follow, signal: context.signal });
    await showAgent(events, context);
    return 0;
  },
};

const values = z.object({
  after: decimal(z.int().min(0).default(0)),
  follow: z.boolean().default(false),
});
