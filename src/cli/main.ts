import { styleText } from 'node:util';
import { thisHost } from '../config/host.ts';
import { nearest } from '../config/schema.ts';
import { type CliCommand, exitCodes, signalCode } from './command.ts';
import { commands } from './command-list.ts';
import { overviewHelp } from './help.ts';
import { perform } from './perform.ts';
import { ownStreams } from './streams.ts';

process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  const [name] = argv;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    console.log(overviewHelp(commands));
    return name === undefined ? exitCodes.usage : exitCodes.done;
  }
  const command = findCommand(argv);
  if (command === undefined) return withoutCommand(argv);
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupt.abort(signal));
  for (const stream of [process.stdout, process.stderr]) {
    stream.once('error', (error) => {
      interrupt.abort('SIGPIPE');
      notWritten(error);
    });
    // Each write after that fails too.
    stream.on('error', () => {});
  }
  return perform(command, argv.slice(command.name.split(' ').length), {
    streams: ownStreams(() => interrupt.abort('SIGHUP')),
    host: thisHost(),
    cwd: thisFolder(),
    colours: styleText('bold', 'x') !== 'x',
    signal: interrupt.signal,
    commands,
  });
}

/** `geode … | head`: nobody reads any more, which ends a command as it would end any other. A full disk is told. */
function notWritten(error: NodeJS.ErrnoException): void {
  // A terminal that is gone gives EIO.
  const isLeft = error.code === 'EPIPE' || error.code === 'EIO';
  if (!isLeft) process.stderr.write(`geode: What it says cannot be written: ${error.message}\n`);
  process.once('exit', () => {
    process.exitCode = isLeft ? process.exitCode || signalCode('SIGPIPE') : exitCodes.failed;
  });
}

/** A name is one word or two: `host`, `host stop`; of both the longer is meant. */
function findCommand(argv: readonly string[]): CliCommand | undefined {
  const named = (words: number) => commands.find(({ name }) => name === argv.slice(0, words).join(' '));
  return named(2) ?? named(1);
}

/** One that was removed meanwhile is nowhere. */
function thisFolder(): string {
  try {
    return process.cwd();
  } catch {
    return '/';
  }
}

/** The first word of a family of commands, `geode sandbox`, or a word that is not known. */
function withoutCommand([first = '', second = '--help']: readonly string[]): number {
  const family = commands.filter(({ name }) => name.startsWith(`${first} `));
  if (family.length > 0 && second.startsWith('-')) {
    console.log(overviewHelp(family));
    return exitCodes.usage;
  }
  const names = commands.map(({ name }) => name);
  const asked = family.length > 0 ? `${first} ${second}` : first;
  const near = nearest(`${first} ${second}`, names) ?? nearest(first, names);
  console.error(
    `There is no command ${asked}. ${near === undefined ? 'See' : `Did you mean geode ${near}? See`} geode ${family.length > 0 ? first : '--help'}.`,
  );
  return exitCodes.usage;
}
