/** Options that several memory commands share. */
import { z } from 'zod';
import { localUser } from '../api/keys.ts';
import type { CliOption } from './command.ts';

export const userOption = {
  user: { type: 'string', description: `Whose memory; ${localUser} by default` },
} as const satisfies Record<string, CliOption>;

export const filterOptions = {
  ...userOption,
  category: { type: 'string', short: 'c', description: 'Only this category' },
  tag: { type: 'string', short: 't', multiple: true, description: 'Only entries with this tag; repeatable' },
  source: { type: 'string', description: 'Only entries from this source' },
  strict: { type: 'boolean', description: 'Leave expired entries out' },
} as const satisfies Record<string, CliOption>;

export const pagingOptions = {
  limit: { type: 'string', short: 'n', description: 'How many, 1 to 100; 10 by default' },
  offset: { type: 'string', description: 'How many to skip' },
} as const satisfies Record<string, CliOption>;

export const userValues = z.object({ user: z.string().default(localUser) });

/** Memory itself refuses what is out of range. */
export const filterValues = userValues.extend({
  category: z.string().optional(),
  tag: z.array(z.string()).optional(),
  source: z.string().optional(),
  strict: z.boolean().default(false),
  limit: z.coerce.number().optional(),
  offset: z.coerce.number().optional(),
});
