export const languageNames = ['python', 'javascript', 'typescript', 'shell', 'rust', 'go'] as const;
export type LanguageName = (typeof languageNames)[number];

export interface Step {
  readonly argv: readonly [string, ...string[]];
  readonly env?: Readonly<Record<string, string>>;
}

/** Absolute paths in the sandbox. */
export interface Places {
  readonly source: string;
  /** A folder for what a compiler makes. */
  readonly build: string;
}

/** A language is how its source becomes a command. */
export interface Language {
  readonly name: LanguageName;
  readonly aliases: readonly string[];
  /** Without the dot. The source is saved under the first; files with any of them are of this language. */
  readonly extensions: readonly [string, ...string[]];
  /** Makes the program that `run` starts. Its time and output are not the run's. */
  readonly compile?: (places: Places) => Step;
  readonly run: (places: Places) => Step;
  /** Where the source must be other than it was sent. */
  readonly source?: (code: Uint8Array) => Uint8Array;
  /** Instead of the default, where a compiler has to fit in as well. */
  readonly memoryBytes?: number;
}
