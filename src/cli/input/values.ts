/** Validates user input; the messages name the option. */
import type { z } from 'zod';
import { GeodeError } from '../../base/errors.ts';
import type { CliContext } from '../command.ts';

export function parseValues<S extends z.ZodType>(schema: S, { values }: CliContext): z.output<S> {
  const { success, data, error } = schema.safeParse(values);
  if (success) return data;
  const [issue] = error.issues;
  throw wrongUsage(`--${String(issue?.path[0] ?? '')}: ${issue?.message ?? 'is not valid'}`);
}

/** The one positional that a command needs. */
export function onePositional({ positionals }: CliContext, what: string): string {
  const [value, ...rest] = positionals;
  if (value === undefined || rest.length > 0) throw wrongUsage(`Give one ${what}`);
  return value;
}

/** A word that is one of a few. */
export function chosen<T extends string>(word: string, words: readonly T[], what: string): T {
  const found = words.find((each) => each === word);
  if (found !== undefined) return found;
  throw wrongUsage(`${JSON.stringify(word)} is not ${what}. Choose one of: ${words.join(', ')}`);
}

export function somePositionals({ positionals }: CliContext, what: string): readonly string[] {
  if (positionals.length === 0) throw wrongUsage(`Give at least one ${what}`);
  return positionals;
}

export function wrongUsage(message: string): GeodeError {
  return new GeodeError('invalid_input', message, { details: { usage: true } });
}

export interface NumberBounds {
  readonly least?: number;
  readonly most?: number;
  readonly isWhole?: boolean;
}

/** A number as people write it: `0x10`, `1e3` and an empty text are numbers for JavaScript only. */
export function numberFrom(
  values: CliContext['values'],
  name: string,
  { least = -Infinity, most = Infinity, isWhole = false }: NumberBounds = {},
): number | undefined {
  const given = values[name];
  if (given === undefined) return undefined;
  const number = /^-?\d+(\.\d+)?$/.test(String(given)) ? Number(given) : Number.NaN;
  if (Number.isNaN(number) || (isWhole && !Number.isInteger(number)))
    throw wrongUsage(`--${name}: ${String(given)} is not a ${isWhole ? 'whole ' : ''}number`);
  if (number < least || number > most)
    throw wrongUsage(`--${name}: ${number} is not between ${least} and ${most}`);
  return number;
}
