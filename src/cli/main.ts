import { parseArgs } from 'node:util';
import { createApp } from '../app.ts';
import { thisHost } from '../config/host.ts';
import { loadConfig } from '../config/load.ts';
import { nearest } from '../config/schema.ts';
import { GeodeError, isGeodeError, reasonOf } from '../core/errors.ts';
import { type CliCommand, type CliContext, type CliOption, exitCodes, text } from './command.ts';
import { configCommand } from './commands/config.ts';
import { doctorCommand } from './commands/doctor.ts';
import { execCommand } from './commands/exec.ts';
import { replCommand } from './commands/repl.ts';
import { runCommand as runCodeCommand } from './commands/run.ts';
import { statusCommand } from './commands/status.ts';
import { commandHelp, overviewHelp } from './help.ts';

const commands: readonly CliCommand[] = [
  runCodeCommand,
  replCommand,
  execCommand,
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
  const [name, ...rest] = argv;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    console.log(overviewHelp(commands));
    return name === undefined ? exitCodes.usage : exitCodes.done;
  }
  const command = commands.find((candidate) => candidate.name === name);
  if (command === undefined) {
    const near = nearest(
      name,
      commands.map((candidate) => candidate.name),
    );
    console.error(
      `There is no command ${name}. ${near === undefined ? 'See' : `Did you mean geode ${near}? See`} geode --help.`,
    );
    return exitCodes.usage;
  }
  const json = rest.includes('--json');
  try {
    return await runCommand(command, rest);
  } catch (error) {
    return report(error, json);
  }
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
    const option = Object.entries(options).find(
      ([name, { short }]) => word === `--${name}` || word === `-${short}`,
    );
    if (option?.[1].type === 'string') index += 1;
  }
  return { before: argv, after: [] };
}

function report(error: unknown, json: boolean): number {
  if (!isGeodeError(error)) {
    console.error(`internal error: ${error instanceof Error ? error.stack : String(error)}`);
    return exitCodes.failed;
  }
  if (json) console.log(JSON.stringify(error));
  else console.error(`geode: ${error.message}\n  ${error.hint}`);
  if (error.code === 'cancelled') return exitCodes.interrupted;
  return error.details.usage === true ? exitCodes.usage : exitCodes.failed;
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
