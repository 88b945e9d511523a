import type { LanguageWords } from '../../seams/languages.ts';
import type { Command } from '../../seams/process.ts';
import type { LanguageName } from '../../seams/run.ts';
import type { Sandbox } from '../../seams/sandbox.ts';

interface Step {
  readonly argv: readonly [string, ...string[]];
  readonly env?: Readonly<Record<string, string>>;
}

/** In the folder of the code, with names that its own files do not use. */
export const buildFolder = '.build';

/** Absolute paths in the sandbox. */
export interface SourcePlaces {
  readonly source: string;
  /** A folder for compiler output. */
  readonly build: string;
}

/** The command of a waiting interpreter, and the file in which it waits. */
export interface WaitingInterpreter extends Step, Pick<Command, 'cwd'> {
  readonly gate: { readonly path: string; readonly content: Uint8Array };
}

/** An interpreter that starts early, waits for the rest of its command, and then runs the source as usual. */
export interface Prestart {
  readonly start: (
    places: SourcePlaces,
    around: Pick<Sandbox, 'scratch' | 'env'>,
  ) => Promise<WaitingInterpreter>;
  /** Variables that an interpreter reads at its start: a run that sets one needs its own interpreter. */
  readonly readsAtStart: RegExp;
}

/** Where the code of a language is, in a sandbox with that workdir. */
export function placesIn(workdir: string, language: Language): SourcePlaces {
  return { source: `${workdir}/${sourceName(language)}`, build: `${workdir}/${buildFolder}` };
}

export function sourceName({ extensions }: Language): string {
  return `main.${extensions[0]}`;
}

/** Defines how the source of a language becomes a command. */
export interface Language extends LanguageWords {
  readonly name: LanguageName;
  /** Builds the program that `run` starts. Its time and output are not the run's. */
  readonly compile?: (places: SourcePlaces) => Step;
  readonly run: (places: SourcePlaces) => Step;
  /** How its interpreter is started before there is code. */
  readonly prestart?: Prestart;
  /** If the source has to be changed before it runs. */
  readonly source?: (code: Uint8Array) => Uint8Array;
  /** Replaces the default if a compiler needs more. */
  readonly memoryBytes?: number;
}
