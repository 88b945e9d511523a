import { z } from 'zod';

/**
 * A number as people write it, in a query or an option. `0x10`, `1e3`, blanks and an empty text are numbers for
 * JavaScript only; they reach the schema as text, which it refuses.
 */
export function decimal<S extends z.ZodType<number | undefined>>(schema: S) {
  return z.preprocess(
    (value) => (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value),
    schema,
  );
}
