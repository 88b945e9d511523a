/** Options that several memory commands share. */
import { localUser } from '../../core/identity.ts';
import type { CliOption } from '../command.ts';

export const userOption = {
  user: { type: 'string', value: 'USER', description: `whose memory; ${localUser} by default` },
} as const satisfies Record<string, CliOption>;

export const filterOptions = {
  ...userOption,
  category: { type: 'string', value: 'NAME', short: 'c', description: 'only this category' },
  tag: {
    type: 'string',
    value: 'TAG',
    short: 't',
    multiple: true,
    description: 'only entries with this tag; repeatable',
  },
  source: { type: 'string', description: 'only entries from this source' },
  strict: { type: 'boolean', description: 'leave expired entries out' },
} as const satisfies Record<string, CliOption>;

export const pagingOptions = {
  limit: { type: 'string', value: 'N', short: 'n', description: 'how many, 1 to 100; 10 by default' },
  offset: { type: 'string', value: 'N', description: 'how many to skip' },
} as const satisfies Record<string, CliOption>;
