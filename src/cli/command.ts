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
  readonly json: boolean;
  readonly signal: AbortSignal;
  /** A line on stdout. */
  readonly out: (line: string) => void;
}

/** A command is one file: its name, its help, its options and what it does. */
export interface CliCommand {
  readonly name: string;
  readonly summary: string;
  /** What stands after the name: `[--] COMMAND [ARGUMENT …]`. */
  readonly usage: string;
  readonly examples: readonly (readonly [command: string, meaning: string])[];
  readonly options: Readonly<Record<string, CliOption>>;
  /** Resolves to the exit code. Throws `GeodeError` for what the user can put right. */
  run(context: CliContext): Promise<number>;
}

export const exitCodes = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const;
