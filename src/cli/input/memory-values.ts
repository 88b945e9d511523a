/** What several memory commands take, checked; apart from the options, because a schema is slow to load. */
import { z } from 'zod';
import { localUser } from '../../base/identity.ts';
import { decimal } from '../../contract/decimal.ts';

export const userValues = z.object({ user: z.string().default(localUser) });

/** Whose memory, or that of which chat. */
export const placeValues = userValues.extend({ chat: z.string().min(1).optional() });

/** Memory itself refuses what is out of range. */
export const filterValues = placeValues.extend({
  category: z.string().optional(),
  tag: z.array(z.string()).optional(),
  source: z.string().optional(),
  strict: z.boolean().default(false),
  limit: decimal(z.number().optional()),
  offset: decimal(z.number().optional()),
});
