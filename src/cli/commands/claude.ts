import { type CliCommand, text } from '../command.ts';
import { wrongUsage } from '../input/values.ts';
import { showAgent } from '../render/show-agent.ts';
import { forUserOption, userClient } from '../user-client.ts';

export const claudeCommand: CliCommand = {
  name: 'claude',
  summary: 'have Claude Code do something in a sandbox that has no network and no key',
  usage: '[OPTION …] PROMPT …',
  examples: [
    ['geode claude "write fizzbuzz and run it"', 'in the chat called claude'],
    ['geode claude --chat demo "and now in Go"', 'goes on with another conversation'],
    ['geode secrets set anthropic', 'once before: the key stays outside of the sandbox'],
  ],
  options: {
    chat: { type: 'string', value: 'CHAT', description: 'which conversation and sandbox (default: claude)' },
    model: { type: 'string', value: 'NAME', description: 'for a new conversation, instead of the usual one' },
    quiet: { type: 'boolean', short: 'q', description: 'only the answer' },
    ...forUserOption,
  },
  async run(context) {
    const { positionals, values, signal } = context;
    const prompt = positionals.join(' ');
    if (prompt.trim() === '') throw wrongUsage('geode claude needs a prompt: say in words what to do');
    const chat = text(values, 'chat') ?? 'claude';
    const { agents } = userClient(context);
    const options = { driver: 'claude', model: text(values, 'model'), signal } as const;
    try {
      return await showAgent(agents.send(chat, { text: prompt }, options), context);
    } catch (error) {
      // Ctrl-C is meant for the agent, and not only for who listens to it.
      if (signal.aborted) await agents.interrupt(chat).catch(() => {});
      throw error;
    }
  },
};
