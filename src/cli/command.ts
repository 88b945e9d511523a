import { constants } from 'node:os';
import type { styleText } from 'node:util';
import type { LoadedConfig } from '../config/load.ts';
import type { Geode } from '../host/geode.ts';
import type { Machine } from '../machine/machine.ts';
import type { SplitArguments } from './input/split-arguments.ts';
import type { Streams } from './streams.ts';

/** One option: what `node:util`'s parseArgs takes, and what help says of it. */
export interface CliOption {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  readonly multiple?: boolean;
  readonly description: string;
  /** The name of its value in help: `--timeout SECONDS`. */
  readonly value?: string;
}

export type CliValues = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

/** All that a command may touch. */
export interface CliContext {
  /** `run`, `sandbox exec`. */
  readonly commandName: string;
  /** The typed arguments without the name of the command. */
  readonly argv: readonly string[];
  readonly values: CliValues;
  readonly positionals: readonly string[];
  readonly machine: Machine;
  /** Where local paths start. */
  readonly cwd: string;
  readonly streams: Streams;
  readonly json: boolean;
  readonly signal: AbortSignal;
  readonly loaded: () => Promise<LoadedConfig>;
  /** The parts of a host, in this process, for a command without a running host. */
  readonly geode: () => Promise<Geode>;
  /** A line on stdout. */
  readonly out: (line: string) => void;
  /** A line on stderr. */
  readonly err: (line: string) => void;
  /** In colour where stdout shows colours. */
  readonly paint: (style: Parameters<typeof styleText>[0], text: string) => string;
}

/** A command's line in `geode --help`, and its module. */
export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<CliCommand>;
}

/** A command is one file: its name, its help, its options and what it does. */
export interface CliCommand {
  readonly name: string;
  readonly summary: string;
  /** Usage after the name: `[--] COMMAND [ARGUMENT …]`. */
  readonly usage: string;
  readonly examples: readonly (readonly [command: string, meaning: string])[];
  readonly options: Readonly<Record<string, CliOption>>;
  /** Possible first words, for shell completion. */
  readonly words?: readonly string[];
  /** Splits Geode's own options from the arguments of the program that it runs. */
  readonly split?: (argv: readonly string[], options: CliCommand['options']) => SplitArguments;
  run(context: CliContext): Promise<number>;
}

/** Documented in `geode --help`; a command's own exit code passes through `exec` unchanged. */
export const exitCodes = { done: 0, failed: 1, usage: 2, timedOut: 124, notRun: 125 } as const;

/** As a shell would say it: 130 for an interrupt from the keyboard, 128 and the signal's number for the rest. */
export function interruptedCode(reason: unknown): number {
  return signalCode(typeof reason === 'string' ? reason : 'SIGINT');
}

export function signalCode(name: string): number {
  const numbers: Readonly<Record<string, number>> = constants.signals;
  return 128 + (numbers[name] ?? 0);
}

export function text(values: CliValues, name: string): string | undefined {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
}

export function texts(values: CliValues, name: string): readonly string[] {
  const value = values[name];
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
