import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { newIdSchema } from '../../api/schemas.ts';
import { wireStored } from '../../api/wire.ts';
import { type CliCommand, parseValues } from '../command.ts';
import { userOption, userValues } from '../memory-options.ts';
import { openLocalMemory } from '../open-memory.ts';

export const command: CliCommand = {
  name: 'memory add',
  summary: 'Store an entry',
  examples: [
    'geode memory add "Deploys run from the release branch" -c project -t deploy',
    'cat notes.md | geode memory add --id notes/deploy --source notes.md',
  ],
  positionals: '[text…]',
  options: {
    ...userOption,
    id: { type: 'string', description: 'Its name; storing under it again makes the next version' },
    category: {
      type: 'string',
      short: 'c',
      description: 'core (default), project, conversation, daily, scratch or your own',
    },
    tag: { type: 'string', short: 't', multiple: true, description: 'A tag; repeatable' },
    source: { type: 'string', description: 'Where it comes from; the command line by default' },
    'valid-until': { type: 'string', description: 'A date; from then on the entry is marked as expired' },
    supersedes: {
      type: 'string',
      multiple: true,
      description: 'The id of an entry that this one replaces; repeatable',
    },
  },
  async run(context) {
    const { values, positionals, json, out, signal } = context;
    const { user, id, category, tag, source, supersedes, ...options } = parseValues(addValues, values);
    const validUntil = options['valid-until'];
    const content = positionals.length > 0 ? positionals.join(' ') : await text(process.stdin);
    await using local = await openLocalMemory(context);
    const stored = await local.store.in(user).store(
      {
        content,
        category,
        source,
        ...(id !== undefined && { key: id }),
        ...(tag && { tags: tag }),
        ...(validUntil && { validUntil }),
        ...(supersedes && { supersedes }),
      },
      { signal },
    );
    const scrubbed = stored.scrubbed > 0 ? `, ${stored.scrubbed} secrets left out` : '';
    out(json ? JSON.stringify(wireStored(stored)) : `${stored.outcome} ${stored.entry.key}${scrubbed}`);
    return 0;
  },
};

const addValues = userValues.extend({
  id: newIdSchema.optional(),
  category: z.string().default('core'),
  tag: z.array(z.string()).optional(),
  source: z.string().default('command line'),
  'valid-until': z.coerce.date().optional(),
  supersedes: z.array(z.string()).optional(),
});
