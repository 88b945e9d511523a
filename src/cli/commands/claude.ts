import { GeodeError } from '../../base/errors.ts';
import type { GeodeClient } from '../../client/client.ts';
import { type CliCommand, type CliContext, exitCodes, interruptedCode, text } from '../command.ts';
import { exitCodeOf } from '../input/sandbox-options.ts';
import { wrongUsage } from '../input/values.ts';
import { oneTurn } from '../one-turn.ts';
import { printableLine } from '../render/printable.ts';
import { explainExit } from '../render/show-process.ts';
import { hasTerminal, terminalSize } from '../streams.ts';
import { joinTerminal } from '../terminal/terminal-session.ts';
import { forUserOption, userClient } from '../user-client.ts';

export const claudeCommand: CliCommand = {
  name: 'claude',
  summary: 'Run Claude Code in a sandbox',
  usage: '[OPTION …] [PROMPT …]',
  examples: [
    ['geode claude', 'opens its screen in the chat "claude"; Ctrl-P Ctrl-Q detaches'],
    [
      'geode claude "write fizzbuzz and run it"',
      'runs one turn of the same conversation and prints the answer',
    ],
    ['geode claude --chat demo "and now in Go"', 'continues another conversation'],
    ['geode claude -C . "fix the tests"', 'works on a copy of this folder and brings the changes back'],
    [
      'geode claude -C . --unattended "make the tests pass"',
      'asks nothing: commands in the sandbox are allowed; ends with a summary and a diff',
    ],
    ['geode secrets set anthropic', 'needed once before; the key stays outside the sandbox'],
  ],
  options: {
    chat: {
      type: 'string',
      value: 'CHAT',
      description: 'the conversation and its sandbox (default: claude)',
    },
    folder: {
      type: 'string',
      short: 'C',
      value: 'FOLDER',
      description: 'copy the folder into its own sandbox and bring the changes back',
    },
    unattended: {
      type: 'boolean',
      description: 'with -C: allow what it asks for in its sandbox, for one turn of up to 12 hours',
    },
    model: {
      type: 'string',
      value: 'NAME',
      description: 'the model of a new conversation (default: the configured one)',
    },
    quiet: { type: 'boolean', short: 'q', description: 'print only the answer' },
    ...forUserOption,
  },
  async run(context) {
    const { positionals, values, json, streams } = context;
    const prompt = positionals.join(' ').trim();
    if (prompt === '' && (json || !hasTerminal(streams))) throw noTerminal();
    const client = userClient(context);
    const folder = text(values, 'folder');
    const named = text(values, 'chat');
    if (folder !== undefined && named !== undefined)
      throw wrongUsage('-C uses one conversation for each folder; leave out --chat');
    const unattended = values.unattended === true;
    if (unattended && (folder === undefined || prompt === ''))
      throw wrongUsage('--unattended needs -C FOLDER and a prompt');
    const run = (chat: string) =>
      prompt === '' ? atTerminal(client, chat, context) : oneTurn(client, chat, prompt, context);
    if (folder === undefined) return run(named ?? 'claude');
    const { inFolder } = await import('../folder/in-folder.ts');
    if (!unattended) return inFolder(client, folder, context, { run });
    const { unattendedWork } = await import('../folder/unattended-work.ts');
    return inFolder(client, folder, context, unattendedWork(client, prompt, context));
  },
};

/** Shows the program's own screen: joins the running program, or starts a new one. */
async function atTerminal(
  { agents, sandboxes }: GeodeClient,
  chat: string,
  context: CliContext,
): Promise<number> {
  const { streams, values, signal, err } = context;
  const size = terminalSize(streams);
  const folder = text(values, 'folder');
  const back = `geode claude ${folder === undefined ? `--chat ${chat}` : `-C ${folder}`}`;
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
  err(`\ndetached; ${printableLine(back)} attaches again`);
  return left.type === 'detached' ? exitCodes.done : interruptedCode(left.reason);
}

function noTerminal(): GeodeError {
  return new GeodeError(
    'invalid_input',
    'geode claude without a prompt needs a terminal, and stdin or stdout is not one.',
    {
      hint: 'Give a prompt: geode claude "write fizzbuzz and run it".',
      details: { usage: true },
    },
  );
}
