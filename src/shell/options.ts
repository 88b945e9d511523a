import { dropStart, type Field } from './field.ts';

/** How a program reads its arguments. */
export interface OptionSpec {
  /** Letters whose option takes a value. */
  readonly short?: string;
  /** Long names whose option takes a value. */
  readonly long?: readonly string[];
  /** The first operand ends the options: what follows belongs to another program. */
  readonly stopsAtOperand?: boolean;
}

export interface Options {
  /** Letters and long names that were given. */
  readonly flags: ReadonlySet<string>;
  readonly values: ReadonlyMap<string, readonly Field[]>;
  readonly operands: readonly Field[];
}

/** Reads arguments as getopt does: grouped letters, attached and separate values, `--`. */
export function readOptions(args: readonly Field[], spec: OptionSpec): Options {
  const flags = new Set<string>();
  const values = new Map<string, Field[]>();
  const operands: Field[] = [];
  const give = (name: string, value: Field | undefined) => {
    flags.add(name);
    if (value !== undefined) values.set(name, [...(values.get(name) ?? []), value]);
  };
  for (let at = 0; at < args.length; at++) {
    const field = args[at];
    if (field === undefined) break;
    const { text } = field;
    if (text === '--') {
      operands.push(...args.slice(at + 1));
      break;
    }
    if (text.startsWith('--')) {
      const equals = text.indexOf('=');
      const name = text.slice(2, equals < 0 ? undefined : equals);
      const full = unabbreviated(name, spec.long ?? []);
      if (equals >= 0) give(full ?? name, dropStart(field, equals + 1));
      else give(full ?? name, full === undefined ? undefined : args[++at]);
    } else if (text.startsWith('-') && text.length > 1) {
      const takesValue = [...text.slice(1)].findIndex((letter) => spec.short?.includes(letter));
      const letters = takesValue < 0 ? text.slice(1) : text.slice(1, takesValue + 1);
      for (const letter of letters) flags.add(letter);
      if (takesValue >= 0) {
        const attached = dropStart(field, takesValue + 2);
        give(text.charAt(takesValue + 1), attached.text === '' ? args[++at] : attached);
      }
    } else if (spec.stopsAtOperand) {
      operands.push(...args.slice(at));
      break;
    } else {
      operands.push(field);
    }
  }
  return { flags, values, operands };
}

/** Long names may be shortened as long as they are clear. */
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
export function valuesOf(options: Options, ...names: readonly string[]): Field[] {
  return names.flatMap((name) => options.values.get(name) ?? []);
}
