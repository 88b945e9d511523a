import { commands } from '../src/cli/command-list.ts';
import { commandHelp, exitCodeLines } from '../src/cli/help.ts';

/** `docs/commands.md`, made from the table of commands: what `geode COMMAND --help` says, on one page. */
export async function commandsDocument(): Promise<string> {
  const loaded = await Promise.all(commands.map(({ load }) => load()));
  const link = (name: string) => `#geode-${name.replaceAll(' ', '-')}`;
  return [
    '# Commands',
    '',
    'Every command also takes `--help`, `--json` (JSON for programs, errors too) and `--config FILE`. `geode completion bash`, `zsh` and `fish` make your shell complete all of this. Made by `npm run docs`.',
    '',
    '| command | what it does |',
    '|---|---|',
    ...commands.map(({ name, summary }) => `| [\`${name}\`](${link(name)}) | ${escaped(summary)} |`),
    '',
    '## Exit codes',
    '',
    ...exitCodeLines.map((line) => `- ${line}`),
    '',
    ...loaded.flatMap((command) => [
      `## geode ${command.name}`,
      '',
      '```',
      commandHelp(command, command.options),
      '```',
      '',
    ]),
  ].join('\n');
}

function escaped(text: string): string {
  return text.replaceAll('|', '\\|');
}
