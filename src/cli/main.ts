import { parseArgs } from 'node:util';
import { createApp } from '../app.ts';
import { thisHost } from '../config/host.ts';
import { loadConfig } from '../config/load.ts';
import { nearest } from '../config/schema.ts';
import { errorCatalogue, GeodeError, isGeodeError, reasonOf } from '../core/errors.ts';
import {
  type CliCommand,
  type CliContext,
  type CliOption,
  exitCodes,
  interruptedCode,
  text,
} from './command.ts';
import { configCommand } from './commands/config.ts';
import { doctorCommand } from './commands/doctor.ts';
import { execCommand } from './commands/exec.ts';
import { gatewayCommand } from './commands/gateway.ts';
import { keysCreateCommand } from './commands/keys-create.ts';
import { keysListCommand } from './commands/keys-list.ts';
import { keysRevokeCommand } from './commands/keys-revoke.ts';
import { memoryAddCommand } from './commands/memory-add.ts';
import { memoryExportCommand } from './commands/memory-export.ts';
import { memoryGetCommand } from './commands/memory-get.ts';
import { memoryImportCommand } from './commands/memory-import.ts';
import { memoryLsCommand } from './commands/memory-ls.ts';
import { memoryReindexCommand } from './commands/memory-reindex.ts';
import { memoryRmCommand } from './commands/memory-rm.ts';
import { memorySearchCommand } from './commands/memory-search.ts';
import { memoryStatsCommand } from './commands/memory-stats.ts';
import { replCommand } from './commands/repl.ts';
import { runCommand as runCodeCommand } from './commands/run.ts';
import { sandboxCpCommand } from './commands/sandbox-cp.ts';
import { sandboxCreateCommand } from './commands/sandbox-create.ts';
import { sandboxDiffCommand } from './commands/sandbox-diff.ts';
import { sandboxExecCommand } from './commands/sandbox-exec.ts';
import { sandboxExtendCommand } from './commands/sandbox-extend.ts';
import { sandboxForkCommand } from './commands/sandbox-fork.ts';
import { sandboxLogsCommand } from './commands/sandbox-logs.ts';
import { sandboxLsCommand } from './commands/sandbox-ls.ts';
import { sandboxPauseCommand } from './commands/sandbox-pause.ts';
import { sandboxPsCommand } from './commands/sandbox-ps.ts';
import { sandboxRenameCommand } from './commands/sandbox-rename.ts';
import { sandboxRestoreCommand } from './commands/sandbox-restore.ts';
import { sandboxResumeCommand } from './commands/sandbox-resume.ts';
import { sandboxRmCommand } from './commands/sandbox-rm.ts';
import { sandboxSnapshotCommand } from './commands/sandbox-snapshot.ts';
import { sandboxStartCommand } from './commands/sandbox-start.ts';
import { sandboxStatsCommand } from './commands/sandbox-stats.ts';
import { sandboxStopCommand } from './commands/sandbox-stop.ts';
import { sandboxUndoCommand } from './commands/sandbox-undo.ts';
import { shellCommand } from './commands/shell.ts';
import { statusCommand } from './commands/status.ts';
import { commandHelp, overviewHelp } from './help.ts';

const commands: readonly CliCommand[] = [
  runCodeCommand,
  replCommand,
  execCommand,
  shellCommand,
  sandboxCreateCommand,
  sandboxLsCommand,
  sandboxStartCommand,
  sandboxStopCommand,
  sandboxRmCommand,
  sandboxExecCommand,
  sandboxCpCommand,
  sandboxLogsCommand,
  sandboxPsCommand,
  sandboxStatsCommand,
  sandboxPauseCommand,
  sandboxResumeCommand,
  sandboxSnapshotCommand,
  sandboxRestoreCommand,
  sandboxDiffCommand,
  sandboxUndoCommand,
  sandboxForkCommand,
  sandboxExtendCommand,
  sandboxRenameCommand,
  memoryAddCommand,
  memoryExportCommand,
  memoryGetCommand,
  memoryImportCommand,
  memoryLsCommand,
  memoryReindexCommand,
  memoryRmCommand,
  memorySearchCommand,
  memoryStatsCommand,
  gatewayCommand,
  keysCreateCommand,
  keysListCommand,
  keysRevokeCommand,
  statusCommand,
  doctorCommand,
  configCommand,
];

const commonOptions: Readonly<Record<string, CliOption>> = {
  help: { type: 'boolean', short: 'h', description: 'show this help' },
  json: { type: 'boolean', description: 'print JSON for programs' },
  config: { type: 'string', value: 'FILE', description: 'use this config file' },
};

process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  const [name] = argv;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    console.log(overviewHelp(commands));
    return name === undefined ? exitCodes.usage : exitCodes.done;
  }
  const command = findCommand(argv);
  if (command === undefined) return withoutCommand(argv);
  const rest = argv.slice(command.name.split(' ').length);
  try {
    return await runCommand(command, rest);
  } catch (error) {
    return report(withHelp(error, command), rest.includes('--json'));
  }
}

/** A name is one word or two: `exec`, `memory search`. */
function findCommand(argv: readonly string[]): CliCommand | undefined {
  return commands.find(({ name }) => argv.slice(0, name.split(' ').length).join(' ') === name);
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

async function runCommand(command: CliCommand, argv: readonly string[]): Promise<number> {
  const options = { ...commonOptions, ...command.options };
  const { values, positionals } = parse(command, argv, options);
  if (values.help === true) {
    console.log(commandHelp(command, options));
    return exitCodes.done;
  }
  const host = thisHost();
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupt.abort(signal));
  // `geode … | head`: nobody reads any more, which ends the command as it would end any other.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => interrupt.abort('SIGPIPE'));
  const err = (line: string) => process.stderr.write(`${line}\n`);
  const loaded = once(() => loadConfig(host, text(values, 'config')));
  const context: CliContext = {
    values,
    positionals,
    host,
    json: values.json === true,
    signal: interrupt.signal,
    loaded,
    app: once(async () => createApp((await loaded()).config, host, (message) => err(`warning: ${message}`))),
    out: (line) => process.stdout.write(`${line}\n`),
    err,
  };
  return command.run(context);
}

function parse(command: CliCommand, argv: readonly string[], options: Readonly<Record<string, CliOption>>) {
  const own = command.passThrough ? splitAtFirstPositional(argv, options) : { before: argv, after: [] };
  try {
    const { values, positionals } = parseArgs({
      args: [...own.before],
      options,
      allowPositionals: true,
      strict: true,
    });
    return { values, positionals: [...positionals, ...own.after] };
  } catch (error) {
    throw new GeodeError('invalid_input', reasonOf(error), {
      hint: `See geode ${command.name} --help.`,
      details: { usage: true },
    });
  }
}

/** `geode exec --runtime docker python3 -c …`: what follows the program is the program's. */
function splitAtFirstPositional(argv: readonly string[], options: Readonly<Record<string, CliOption>>) {
  for (let index = 0; index < argv.length; index += 1) {
    const word = argv[index] ?? '';
    if (word === '--') return { before: argv.slice(0, index), after: argv.slice(index + 1) };
    if (!word.startsWith('-')) return { before: argv.slice(0, index), after: argv.slice(index) };
    const last = /^-\w{2,}$/.test(word) ? `-${word.at(-1)}` : word;
    const option = Object.entries(options).find(
      ([name, { short }]) => last === `--${name}` || last === `-${short}`,
    );
    if (option?.[1].type === 'string') index += 1;
  }
  return { before: argv, after: [] };
}

/** Who used a command wrongly is shown the way to its help, unless there is something better to say. */
function withHelp(error: unknown, { name }: CliCommand): unknown {
  if (!isGeodeError(error) || error.details.usage !== true) return error;
  if (error.hint !== errorCatalogue[error.code].hint) return error;
  return new GeodeError(error.code, error.message, {
    hint: `See geode ${name} --help.`,
    details: error.details,
  });
}

function report(error: unknown, json: boolean): number {
  if (!isGeodeError(error)) {
    console.error(`internal error: ${error instanceof Error ? error.stack : String(error)}`);
    return exitCodes.failed;
  }
  if (json) console.log(JSON.stringify(error));
  else console.error(`geode: ${error.message}\n  ${error.hint}`);
  if (error.code === 'cancelled') return interruptedCode(error.cause);
  return error.details.usage === true ? exitCodes.usage : exitCodes.failed;
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
