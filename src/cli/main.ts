import { styleText } from 'node:util';
import { thisMachine } from '../machine/machine.ts';
import { type CommandEntry, exitCodes } from './command.ts';
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
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    const { overviewHelp } = await import('./help.ts');
    process.stdout.write(`${overviewHelp(commands)}\n`);
    return name === undefined ? exitCodes.usage : exitCodes.done;
  }
  if (name === '--version' || name === '-V' || name === 'version') {
    const { version } = await import('./version.ts');
    process.stdout.write(`geode ${version}\n`);
    return exitCodes.done;
  }
  const found = findCommand(argv);
  if (found === undefined) return withoutCommand(argv);
  const [{ perform }, command] = await Promise.all([import('./perform.ts'), found.load()]);
  return perform(command, argv.slice(command.name.split(' ').length), {
    streams: ownStreams(() => ending.hangUp()),
    machine: thisMachine(),
    cwd: thisFolder(),
    colours: styleText('bold', 'x') !== 'x',
    signal: ending.signal,
  });
}

/** A name is one word or two: `host`, `host stop`; of both the longer is meant. */
function findCommand(argv: readonly string[]): CommandEntry | undefined {
  const named = (words: number) => commands.find(({ name }) => name === argv.slice(0, words).join(' '));
  return named(2) ?? named(1);
}

/** If the working directory was deleted, use `/`. */
function thisFolder(): string {
  try {
    return process.cwd();
  } catch {
    return '/';
  }
}

/** The first word of a family of commands, `geode sandbox`, or a word that is not known. */
async function withoutCommand([first = '', second = '--help']: readonly string[]): Promise<number> {
  const family = commands.filter(({ name }) => name.startsWith(`${first} `));
  if (family.length > 0 && second.startsWith('-')) {
    const { overviewHelp } = await import('./help.ts');
    process.stdout.write(`${overviewHelp(family)}\n`);
    return exitCodes.usage;
  }
  const { nearest } = await import('../config/nearest.ts');
  const names = commands.map(({ name }) => name);
  const asked = family.length > 0 ? `${first} ${second}` : first;
  const near = nearest(`${first} ${second}`, names) ?? nearest(first, names);
  process.stderr.write(
    `There is no command ${asked}. ${near === undefined ? 'See' : `Did you mean geode ${near}? See`} geode ${family.length > 0 ? first : '--help'}.\n`,
  );
  return exitCodes.usage;
}
