import type { LanguageWords } from '../../seams/languages.ts';
import type { Command } from '../../seams/process.ts';
import type { LanguageName } from '../../seams/run.ts';
import type { Sandbox } from '../../seams/sandbox.ts';

export interface Step {
  readonly argv: readonly [string, ...string[]];
  readonly env?: Readonly<Record<string, string>>;
}

/** In the folder of the code, out of the way of its own files. */
export const buildFolder = '.build';

/** Absolute paths in the sandbox. */
export interface Places {
  readonly source: string;
  /** A folder for what a compiler makes. */
  readonly build: string;
}

/** The command of an interpreter that waits, and the file that it waits in. */
export interface Waiting extends Step, Pick<Command, 'cwd'> {
  readonly gate: { readonly path: string; readonly content: Uint8Array };
}

/** An interpreter that is started, waits for the rest of its command, and then runs the source as it always does. */
export interface Prestart {
  readonly start: (places: Places, around: Pick<Sandbox, 'scratch' | 'env'>) => Promise<Waiting>;
  /** Variables that an interpreter looks at while it starts: a run that sets one needs an interpreter of its own. */
  readonly readsAtStart: RegExp;
}

/** Where the code of a language is, in a sandbox with that workdir. */
export function placesIn(workdir: string, language: Language): Places {
  return { source: `${workdir}/${sourceName(language)}`, build: `${workdir}/${buildFolder}` };
}

export function sourceName({ extensions }: Language): string {
  return `main.${extensions[0]}`;
}

/** A language is how its source becomes a command. */
export interface Language extends LanguageWords {
  readonly name: LanguageName;
  /** Makes the program that `run` starts. Its time and output are not the run's. */
  readonly compile?: (places: Places) => Step;
  readonly run: (places: Places) => Step;
  /** How its interpreter is started before there is code. */
  readonly prestart?: Prestart;
  /** Where the source must be other than it was sent. */
  readonly source?: (code: Uint8Array) => Uint8Array;
  /** Instead of the default, where a compiler has to fit in as well. */
  readonly memoryBytes?: number;
}
