import { z } from 'zod';
import type { Schema } from '../contract/operation.ts';

/** Recovers a schema's type: declarations only know its types. */
export function zodOf(schema: Schema): z.ZodType {
  if (schema instanceof z.ZodType) return schema;
  throw new TypeError('A declaration has a value that is not a zod schema');
}

export function zodObjectOf(schema: Schema): z.ZodObject {
  if (schema instanceof z.ZodObject) return schema;
  throw new TypeError('Names in a path or a query are fields of an object');
}
