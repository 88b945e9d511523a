/** Validates values of several memory commands; separate from the options, because a schema loads slowly. */
import { z } from 'zod';
import { localUser } from '../../base/identity.ts';
import { decimal } from '../../contract/decimal.ts';

export const userValues = z.object({ user: z.string().default(localUser) });

/** The user whose memory is used, or the chat. */
export const placeValues = userValues.extend({ chat: z.string().min(1).optional() });

/** Checks only types; memory itself refuses values out of range. */
export const filterValues = placeValues.extend({
  category: z.string().optional(),
  tag: z.array(z.string()).optional(),
  source: z.string().optional(),
  strict: z.boolean().default(false),
  limit: decimal(z.number().optional()),
  offset: decimal(z.number().optional()),
});
