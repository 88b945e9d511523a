import type { Context } from 'hono';
import { z } from 'zod';
import type { ApiEnv } from '../api/environment.ts';
import { GeodeError } from '../base/errors.ts';

/** Parses JSON of this shape; throws an error that names the problem. */
export function jsonOf<Schema extends z.ZodType>(schema: Schema, text: string): z.output<Schema> {
  let value: unknown;
  try {
    value = JSON.parse(text || '{}');
  } catch (error) {
    throw new GeodeError('invalid_input', 'That is not JSON.', { cause: error });
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new GeodeError('invalid_input', z.prettifyError(result.error).replaceAll('\n', ' '));
}

export async function bodyOf<Schema extends z.ZodType>(
  { req }: Context<ApiEnv>,
  schema: Schema,
): Promise<z.output<Schema>> {
  return jsonOf(schema, await req.text());
}
