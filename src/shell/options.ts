import { type Argument, dropStart } from './frame.ts';

/** How a program reads its arguments. */
export interface OptionSpec {
  /** Letters of options with a value. */
  readonly short?: string;
  /** Long names of options with a value. */
  readonly long?: readonly string[];
  /** The first operand ends the options: the rest belongs to another program. */
  readonly stopsAtOperand?: boolean;
}

export interface Options {
  /** The given letters and long names. */
  readonly flags: ReadonlySet<string>;
  readonly values: ReadonlyMap<string, readonly Argument[]>;
  readonly operands: readonly Argument[];
}

/** Reads arguments like getopt: grouped letters, attached and separate values, `--`. */
export function readOptions(args: readonly Argument[], spec: OptionSpec): Options {
  const flags = new Set<string>();
  const values = new Map<string, Argument[]>();
  const operands: Argument[] = [];
  const give = (name: string, value: Argument | undefined) => {
    flags.add(name);
    if (value !== undefined) values.set(name, [...(values.get(name) ?? []), value]);
  };
  for (let at = 0; at < args.length; at++) {
    const argument = args[at];
    if (argument === undefined) break;
    const { text } = argument;
    if (text === '--') {
      operands.push(...args.slice(at + 1));
      break;
    }
    if (text.startsWith('--')) {
      const equals = text.indexOf('=');
      const name = text.slice(2, equals < 0 ? undefined : equals);
      const full = unabbreviated(name, spec.long ?? []);
      if (equals >= 0) give(full ?? name, dropStart(argument, equals + 1));
      else give(full ?? name, full === undefined ? undefined : args[++at]);
    } else if (text.startsWith('-') && text.length > 1) {
      const takesValue = [...text.slice(1)].findIndex((letter) => spec.short?.includes(letter));
      const letters = takesValue < 0 ? text.slice(1) : text.slice(1, takesValue + 1);
      for (const letter of letters) flags.add(letter);
      if (takesValue >= 0) {
        const attached = dropStart(argument, takesValue + 2);
        give(text.charAt(takesValue + 1), attached.text === '' ? args[++at] : attached);
      }
    } else if (spec.stopsAtOperand) {
      operands.push(...args.slice(at));
      break;
    } else {
      operands.push(argument);
    }
  }
  return { flags, values, operands };
}

/** Long names may be shortened while they are unambiguous. */
function unabbreviated(name: string, known: readonly string[]): string | undefined {
  if (known.includes(name)) return name;
  return name.length > 3 ? known.find((long) => long.startsWith(name)) : undefined;
}

/** Whether an option was given, by letter or by a long name that may be abbreviated. */
export function given(options: Options, letters: string, longName?: string): boolean {
  if ([...letters].some((letter) => options.flags.has(letter))) return true;
  return (
    longName !== undefined && [...options.flags].some((flag) => flag.length > 2 && longName.startsWith(flag))
  );
}

/** Every value given to any of the named options. */
export function valuesOf(options: Options, ...names: readonly string[]): Argument[] {
  return names.flatMap((name) => options.values.get(name) ?? []);
}
