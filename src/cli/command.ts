/** A command of the CLI: one file each, with its name, its help, what it takes and what it does. */
import type { z } from 'zod';
import { GeodeError } from '../core/errors.ts';

export interface CliOption {
  readonly type: 'string' | 'boolean';
  readonly description: string;
  readonly short?: string;
  readonly multiple?: boolean;
}

export type CliValues = Readonly<
  Record<string, string | boolean | readonly (string | boolean)[] | undefined>
>;

export interface CliConfig {
  /** Where Geode keeps its files. */
  readonly dataDir: string;
  /** Where embedding models are kept; several homes may share it. */
  readonly modelFolder: string;
  readonly version: string;
  readonly gateway: {
    readonly host: string;
    readonly port: number;
    readonly auth: 'keys' | 'off';
    readonly allowedHosts: readonly string[];
    readonly allowedOrigins: readonly string[];
    readonly logLevel: string;
  };
}

export interface CliContext {
  readonly values: CliValues;
  readonly positionals: readonly string[];
  readonly config: CliConfig;
  /** Writes one line for a person or, with `--json`, one JSON text. */
  readonly out: (line: string) => void;
  readonly json: boolean;
  readonly signal: AbortSignal;
}

export interface CliCommand {
  readonly name: string;
  readonly summary: string;
  readonly examples: readonly string[];
  readonly options: Readonly<Record<string, CliOption>>;
  /** How the help shows what follows the options, such as `<text…>`. */
  readonly positionals?: string;
  /** Resolves to the exit code. Throws `GeodeError` for what the user can put right. */
  run(context: CliContext): Promise<number>;
}

/** The values of a command's options, checked; the message names the option. */
export function parseValues<S extends z.ZodType>(schema: S, values: CliValues): z.output<S> {
  const { success, data, error } = schema.safeParse(values);
  if (success) return data;
  const [issue] = error.issues;
  throw new GeodeError(
    'invalid_input',
    `--${String(issue?.path[0] ?? '')}: ${issue?.message ?? 'is not valid'}`,
  );
}

/** The one positional that a command needs. */
export function onePositional({ positionals }: CliContext, what: string): string {
  const [value, ...rest] = positionals;
  if (value === undefined || rest.length > 0) throw new GeodeError('invalid_input', `Give one ${what}`);
  return value;
}
