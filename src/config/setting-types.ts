import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { reasonOf } from '../base/errors.ts';
import { parseSize } from '../seams/limits.ts';

export const size = z.union([z.string(), z.number()]).transform((value, context) => {
  try {
    return parseSize(value, 'it');
  } catch (error) {
    context.addIssue({ code: 'custom', message: reasonOf(error) });
    return z.NEVER;
  }
});
export const folder = z.string().refine(isAbsolute, 'must be an absolute path');
export const positive = z.number().positive();
export const count = z.number().int().nonnegative();
export const price = z.number().nonnegative();
