/** Options that several memory commands share. */
import { chatNamespace } from '../../core/chat-memory.ts';
import { localUser } from '../../core/identity.ts';
import type { CliOption } from '../command.ts';

export const userOption = {
  user: { type: 'string', value: 'USER', description: `whose memory; ${localUser} by default` },
} as const satisfies Record<string, CliOption>;

export const memoryOptions = {
  ...userOption,
  chat: {
    type: 'string',
    value: 'CHAT',
    description: 'only what programs in the sandbox of this chat stored',
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
  strict: { type: 'boolean', description: 'leave expired entries out' },
} as const satisfies Record<string, CliOption>;

export const pagingOptions = {
  limit: { type: 'string', value: 'N', short: 'n', description: 'how many, 1 to 100; 10 by default' },
  offset: { type: 'string', value: 'N', description: 'how many to skip' },
} as const satisfies Record<string, CliOption>;
