import { localUser } from '../../base/identity.ts';
import { type CliCommand, type CliContext, exitCodes } from '../command.ts';
import { sandboxStates } from '../connect/sandbox-states.ts';
import { onePositional, wrongUsage } from '../input/values.ts';

const shells = ['bash', 'zsh', 'fish'] as const;

export const completionCommand: CliCommand = {
  name: 'completion',
  summary: 'Print shell completion for bash, zsh or fish',
  usage: `${shells.join('|')}|names`,
  words: [...shells, 'names'],
  examples: [
    ['source <(geode completion bash)', 'in ~/.bashrc'],
    ['source <(geode completion zsh)', 'in ~/.zshrc, after compinit'],
    ['geode completion fish > ~/.config/fish/completions/geode.fish', 'run it once'],
    ['geode completion names', 'prints the names of all sandboxes, one a line; used by the shells'],
  ],
  options: {},
  async run(context) {
    const word = onePositional(context, `shell: ${shells.join(', ')}`);
    const text = word === 'names' ? await names(context) : await script(word);
    if (context.json) context.out(JSON.stringify({ [word === 'names' ? 'names' : 'script']: text }));
    else context.streams.stdout.write(text);
    return exitCodes.done;
  },
};

async function script(shell: string): Promise<string> {
  const [{ completionTable }, { commands }] = await Promise.all([
    import('../completion/completion-table.ts'),
    import('../command-list.ts'),
  ]);
  const table = () => completionTable(commands);
  if (shell === 'bash') return (await import('../completion/bash.ts')).bashScript(await table());
  if (shell === 'zsh') return (await import('../completion/zsh.ts')).zshScript(await table());
  if (shell === 'fish') return (await import('../completion/fish.ts')).fishScript(await table());
  throw wrongUsage(`There is no completion for ${shell}. Choose one of: ${shells.join(', ')}`);
}

async function names(context: CliContext): Promise<string> {
  const sandboxes = await sandboxStates(context);
  return sandboxes.map(({ user, chat }) => `${user === localUser ? chat : `${user}/${chat}`}\n`).join('');
}
