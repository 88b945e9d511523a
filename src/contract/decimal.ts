import { z } from 'zod';

/**
 * A number in decimal form, in a query or an option. `0x10`, `1e3`, blanks and an empty text are numbers for
 * JavaScript only: they stay text, and the schema refuses them.
 */
export function decimal<S extends z.ZodType<number | undefined>>(schema: S) {
  return z.preprocess(
    (value) => (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value),
    schema,
  );
}
