import { parseArgs, styleText } from 'node:util';
import { errorCatalogue } from '../base/error-catalogue.ts';
import { GeodeError, isGeodeError, reasonOf } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import type { Machine } from '../machine/machine.ts';
import { checkStateMark } from '../machine/state-version.ts';
import { asTyped } from './as-typed.ts';
import {
  type CliCommand,
  type CliContext,
  type CliOption,
  exitCodes,
  interruptedCode,
  signalCode,
  text,
} from './command.ts';
import { commandHelp } from './help.ts';
import { errorText, visible, visibleJson } from './render/printable.ts';
import type { Streams } from './streams.ts';

/** Where a command was typed, and in what process it runs. */
export interface Around {
  readonly streams: Streams;
  readonly machine: Machine;
  readonly cwd: string;
  readonly colours: boolean;
  readonly signal: AbortSignal;
}

export const commonOptions: Readonly<Record<string, CliOption>> = {
  help: { type: 'boolean', short: 'h', description: 'show this help' },
  json: { type: 'boolean', description: 'print JSON for programs' },
  config: { type: 'string', value: 'FILE', description: 'use this config file' },
};

/** Runs a command and returns its exit code; prints errors on its stderr. */
export async function perform(command: CliCommand, argv: readonly string[], around: Around): Promise<number> {
  try {
    const options = { ...commonOptions, ...command.options };
    const context = contextOf(command.name, argv, parse(command, argv, options), around);
    if (context.values.help === true) {
      context.out(asTyped(commandHelp(command, options), around.machine));
      return exitCodes.done;
    }
    return await command.run(context);
  } catch (error) {
    return report(withHelp(error, command), argv.includes('--json'), around);
  }
}

function contextOf(
  commandName: string,
  argv: readonly string[],
  { values, positionals }: Pick<CliContext, 'values' | 'positionals'>,
  around: Around,
): CliContext {
  const { streams, machine, cwd, colours, signal } = around;
  const json = values.json === true;
  const err = (line: string) => streams.stderr.write(`${visible(asTyped(line, machine))}\n`);
  const loaded = once(async () => {
    const { loadConfig } = await import('../config/load.ts');
    const found = await loadConfig(machine, text(values, 'config'));
    checkStateMark(found.config.sandbox.state_dir);
    return found;
  });
  const warn = (message: string) => err(`warning: ${message}`);
  return {
    commandName,
    argv,
    values,
    positionals,
    machine,
    cwd,
    streams,
    json,
    signal,
    loaded,
    geode: once(async () => {
      const [{ createGeode }, { checkState }] = await Promise.all([
        import('../host/geode.ts'),
        import('../host/state/tables.ts'),
      ]);
      const { config } = await loaded();
      checkState(config);
      return createGeode(config, machine, warn);
    }),
    out: (line) => streams.stdout.write(`${line}\n`),
    err,
    paint: (style, words) => (colours ? styleText(style, words, { validateStream: false }) : words),
  };
}

function parse(command: CliCommand, argv: readonly string[], options: Readonly<Record<string, CliOption>>) {
  const own = command.split?.(argv, options) ?? { before: argv, after: [] };
  try {
    const { values, positionals } = parseArgs({
      args: [...own.before],
      options,
      allowPositionals: true,
      strict: true,
    });
    return { values, positionals: [...positionals, ...own.after] };
  } catch (error) {
    throw usageError(reasonOf(error), command.name, Object.keys(options));
  }
}

/** In our words, with the nearest option. */
function usageError(reason: string, command: string, known: readonly string[]): GeodeError {
  const unknown = /^Unknown option '(--?[^']*)'/.exec(reason)?.[1];
  const near =
    unknown === undefined
      ? undefined
      : nearest(
          unknown,
          known.map((name) => `--${name}`),
        );
  const message =
    unknown === undefined
      ? reason
      : `Unknown option ${unknown}.${near === undefined ? '' : ` Did you mean ${near}?`}`;
  return new GeodeError('invalid_input', message, {
    hint: `See geode ${command} --help.`.replace('  ', ' '),
    details: { usage: true },
  });
}

/** Adds a pointer to the command's help to a usage error that has no better hint. */
function withHelp(error: unknown, { name }: CliCommand): unknown {
  if (!isGeodeError(error) || error.details.usage !== true) return error;
  if (error.hint !== errorCatalogue[error.code].hint) return error;
  return new GeodeError(error.code, error.message, {
    hint: `See geode ${name} --help.`,
    details: error.details,
  });
}

function report(error: unknown, json: boolean, { streams: { stdout, stderr }, machine }: Around): number {
  if (!isGeodeError(error)) {
    stderr.write(`internal error: ${visible(String(error instanceof Error ? error.stack : error))}\n`);
    return exitCodes.failed;
  }
  // In `geode … | head`, the reader has seen enough; this is not a failure.
  if (error.code === 'cancelled' && error.cause === 'SIGPIPE') return signalCode('SIGPIPE');
  if (json) stdout.write(`${visibleJson(error)}\n`);
  else stderr.write(`${visible(asTyped(errorText(error), machine))}\n`);
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
