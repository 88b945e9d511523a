import { styleText } from 'node:util';
import { thisMachine } from '../machine/machine.ts';
import { asTyped } from './as-typed.ts';
import { type CliCommand, exitCodes } from './command.ts';
import { commands } from './command-list.ts';
import { watchEndSignals } from './end-signal.ts';
import { ownStreams } from './streams.ts';

const ending = watchEndSignals();
// Until a command has said how it ended, it has failed.
process.exitCode = exitCodes.failed;
// Without `await`, which a file of CommonJS cannot have at its top: see scripts/build-cli.ts.
void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
  ending.over();
});

async function main(argv: readonly string[]): Promise<number> {
  const [name] = argv;
  if (name === '--version' || name === '-V' || name === 'version') {
    const { version } = await import('./version.ts');
    return say(`geode ${version}`);
  }
  if (name === '--help' || name === '-h' || name === 'help') return help(argv.slice(1));
  if (name === undefined) return perform((await import('./overview.ts')).overviewCommand, []);
  const { findCommand, isGroup, unknownCommand } = await import('./find-command.ts');
  const found = findCommand(argv, commands);
  if (found !== undefined) return perform(await found.entry.load(), found.rest);
  const [, second = '--help'] = argv;
  if (isGroup(name, commands) && second.startsWith('-')) {
    await help([name]);
    return second === '--help' || second === '-h' ? exitCodes.done : exitCodes.usage;
  }
  process.stderr.write(`${asTyped(unknownCommand(argv, commands), thisMachine())}\n`);
  return exitCodes.usage;
}

async function perform(command: CliCommand, argv: readonly string[]): Promise<number> {
  const { perform } = await import('./perform.ts');
  return perform(command, argv, {
    streams: ownStreams(() => ending.hangUp()),
    machine: thisMachine(),
    cwd: thisFolder(),
    colours: styleText('bold', 'x') !== 'x',
    signal: ending.signal,
  });
}

/** `geode --help`, `geode help COMMAND`, `geode help GROUP`, `geode help exit-codes`. */
async function help(topic: readonly string[]): Promise<number> {
  const { exitCodesHelp, groupHelp, overviewHelp } = await import('./help.ts');
  const [first] = topic;
  if (first === undefined) return say(overviewHelp(commands));
  if (first === 'exit-codes') return say(exitCodesHelp());
  const { findCommand, isGroup, unknownCommand } = await import('./find-command.ts');
  const isWhole = isGroup(first, commands) && topic.length === 1;
  const found = isWhole ? commands.find(({ name }) => name === first) : findCommand(topic, commands)?.entry;
  if (found !== undefined) await perform(await found.load(), ['--help']);
  if (isWhole) return say(`${found === undefined ? '' : '\n'}${groupHelp(first, commands)}`);
  if (found !== undefined) return exitCodes.done;
  process.stderr.write(`${asTyped(unknownCommand(topic, commands), thisMachine())}\n`);
  return exitCodes.usage;
}

function say(text: string): number {
  process.stdout.write(`${asTyped(text, thisMachine())}\n`);
  return exitCodes.done;
}

/** If the working directory was deleted, use `/`. */
function thisFolder(): string {
  try {
    return process.cwd();
  } catch {
    return '/';
  }
}
