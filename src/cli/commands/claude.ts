import type { GeodeClient } from '../../client/client.ts';
import { GeodeError } from '../../core/errors.ts';
import { type CliCommand, type CliContext, exitCodes, interruptedCode, text } from '../command.ts';
import { exitCodeOf } from '../input/sandbox-options.ts';
import { printableLine } from '../render/printable.ts';
import { showAgent } from '../render/show-agent.ts';
import { explainExit } from '../render/show-process.ts';
import { hasTerminal, terminalSize } from '../streams.ts';
import { joinTerminal } from '../terminal/terminal-session.ts';
import { forUserOption, userClient } from '../user-client.ts';

export const claudeCommand: CliCommand = {
  name: 'claude',
  summary: 'Claude Code in a sandbox that has no network and no key: at your terminal, or for one prompt',
  usage: '[OPTION …] [PROMPT …]',
  examples: [
    ['geode claude', 'its own screen, in the chat called claude; Ctrl-P Ctrl-Q leaves it running'],
    ['geode claude "write fizzbuzz and run it"', 'one turn of the same conversation, as text'],
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
    const { positionals, values } = context;
    const prompt = positionals.join(' ');
    const chat = text(values, 'chat') ?? 'claude';
    const client = userClient(context);
    return prompt.trim() === '' ? atTerminal(client, chat, context) : oneTurn(client, chat, prompt, context);
  },
};

async function oneTurn(
  { agents }: GeodeClient,
  chat: string,
  prompt: string,
  context: CliContext,
): Promise<number> {
  const { values, signal } = context;
  const options = { driver: 'claude', model: text(values, 'model'), signal } as const;
  try {
    return await showAgent(agents.send(chat, { text: prompt }, options), context);
  } catch (error) {
    // Ctrl-C is meant for the agent, and not only for who listens to it.
    if (signal.aborted) await agents.interrupt(chat).catch(() => {});
    throw error;
  }
}

/** The program's own screen: the one that runs, or a new one. */
async function atTerminal(
  { agents, sandboxes }: GeodeClient,
  chat: string,
  context: CliContext,
): Promise<number> {
  const { streams, values, signal, err, json } = context;
  if (json || !hasTerminal(streams)) {
    throw new GeodeError('invalid_input', 'geode claude without a prompt needs a terminal; here is none.', {
      hint: 'Say in words what to do: geode claude "write fizzbuzz and run it".',
      details: { usage: true },
    });
  }
  const size = terminalSize(streams);
  const back = `geode claude --chat ${printableLine(chat)}`;
  const options = { driver: 'claude', model: text(values, 'model'), size, signal } as const;
  const { process, isNew } = await agents.terminal(chat, options);
  if (isNew)
    err(`Claude Code in the sandbox of the chat ${printableLine(chat)}; Ctrl-P Ctrl-Q leaves it running`);
  const joining = isNew ? { opening: signal } : { size, opening: signal };
  const left = await joinTerminal(await sandboxes.of(chat).join(process, joining), context);
  if (left.type === 'ended') {
    explainExit(left.exit, context);
    return exitCodeOf(left.exit);
  }
  err(`\ndetached; ${back} comes back to it`);
  return left.type === 'detached' ? exitCodes.done : interruptedCode(left.reason);
}
