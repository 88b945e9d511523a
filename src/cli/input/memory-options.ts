/** Options that several memory commands share. */

import { localUser } from '../../base/identity.ts';
import { chatNamespace } from '../../seams/chat-memory.ts';
import type { CliOption } from '../command.ts';

export const userOption = {
  user: { type: 'string', value: 'USER', description: `owner of the memory (default: ${localUser})` },
} as const satisfies Record<string, CliOption>;

export const memoryOptions = {
  ...userOption,
  chat: {
    type: 'string',
    value: 'CHAT',
    description: 'only entries stored by programs in the sandbox of this chat',
  },
} as const satisfies Record<string, CliOption>;

/** Where the entries are that these options ask for. */
export function namespaceOf({ user, chat }: { readonly user: string; readonly chat?: string | undefined }) {
  return chat === undefined ? user : chatNamespace(user, chat);
}

export const filterOptions = {
  ...memoryOptions,
  category: { type: 'string', value: 'NAME', short: 'c', description: 'only this category' },
  tag: {
    type: 'string',
    value: 'TAG',
    short: 't',
    multiple: true,
    description: 'only entries with this tag; repeatable',
  },
  source: { type: 'string', description: 'only entries from this source' },
  strict: { type: 'boolean', description: 'leave out expired entries' },
} as const satisfies Record<string, CliOption>;

export const pagingOptions = {
  limit: { type: 'string', value: 'N', short: 'n', description: 'number of entries, 1 to 100 (default 10)' },
  offset: { type: 'string', value: 'N', description: 'number of entries to skip' },
} as const satisfies Record<string, CliOption>;
