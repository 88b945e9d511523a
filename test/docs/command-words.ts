/** Checks commands that the docs show and no test runs: their words must exist in the program's own help. */
import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { documentedSettings } from '../../scripts/configuration-document.ts';
import { reasonOf } from '../../src/base/errors.ts';
import { commands } from '../../src/cli/command-list.ts';
import { findCommand, isGroup } from '../../src/cli/find-command.ts';
import { commonOptions } from '../../src/cli/perform.ts';
import { wrongInOtherPrograms } from './other-programs.ts';
import { root, shellCommands } from './shell-words.ts';

/** Commands, options, variables and files in the text that do not exist, each with the reason. */
export async function wrongWords(text: string): Promise<readonly string[]> {
  const wrong = await Promise.all(
    shellCommands(text).map(async ({ variables, words }) => {
      const exported = words[0] === 'export' ? words.slice(1) : [];
      const unknown = [...variables, ...exported].flatMap((variable) => wrongVariable(variable, text));
      return [...unknown, ...(await wrongIn(words))];
    }),
  );
  return wrong.flat();
}

async function wrongIn(words: readonly string[]): Promise<readonly string[]> {
  if (words[0] === 'geode') return wrongGeode(words.slice(1));
  if (words[0] === 'npx' && words[1] === 'geode-home') return wrongGeode(words.slice(2));
  // `docker compose exec geode geode status`, `claude mcp add geode -- geode mcp`
  const at = words.lastIndexOf('geode');
  const isCommand = at > 0 && /^[a-z]+$/.test(words[at + 1] ?? '');
  if (!isCommand) return wrongInOtherPrograms(words);
  return [...(await wrongInOtherPrograms(words.slice(0, at))), ...(await wrongGeode(words.slice(at + 1)))];
}

/** Reads the arguments as the command itself does. */
async function wrongGeode(argv: readonly string[]): Promise<readonly string[]> {
  const [first = '--help', second = ''] = argv;
  // COMMAND stands for any command.
  const isName = (word: string) => /^(?:[A-Z]+|exit-codes)$/.test(word) || isGroup(word, commands);
  const topic = first === 'help' ? argv.slice(1) : second === '--help' || second === '' ? [first] : undefined;
  if (['--help', '--version'].includes(first) || topic?.every(isName)) return [];
  const found = findCommand(topic ?? argv, commands);
  if (found === undefined) return [`there is no command "geode ${argv.join(' ')}"`];
  const command = await found.entry.load();
  const options = { ...commonOptions, ...command.options };
  try {
    const { before } = command.split?.(found.rest, options) ?? { before: found.rest };
    parseArgs({ args: [...before], options, allowPositionals: true, strict: true });
    return [];
  } catch (error) {
    return [`geode ${argv.join(' ')}: ${reasonOf(error)}`];
  }
}

const settings = new Set(documentedSettings().map(({ variable }) => variable));

/** A variable of Geode is a setting, or the text, a program or a file for deployment uses it. Tests have their own. */
function wrongVariable(assignment: string, text: string): readonly string[] {
  const name = /^(GEODE_(?!TEST_)\w+)=/.exec(assignment)?.[1];
  if (name === undefined || settings.has(name) || text.includes(`$${name}`)) return [];
  const uses = ['grep', '--quiet', '--word-regexp', name, '--', 'src', 'bin', 'deploy', 'examples'];
  try {
    execFileSync('git', uses, { cwd: root });
    return [];
  } catch {
    return [`nothing uses the variable ${name}`];
  }
}
