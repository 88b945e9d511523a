import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { checkUser } from '../../../base/identity.ts';
import { newIdSchema, type WireNewEntry, type WireStored } from '../../../contract/memory-schemas.ts';
import { newEntryOf, wireStored } from '../../../contract/memory-values.ts';
import { type CliCommand, type CliContext, exitCodes } from '../../command.ts';
import { askRunningHost } from '../../connect/running-api.ts';
import { userOption } from '../../input/memory-options.ts';
import { userValues } from '../../input/memory-values.ts';
import { parseValues } from '../../input/values.ts';

export const memoryAddCommand: CliCommand = {
  name: 'memory add',
  summary: 'Store an entry',
  usage: '[TEXT …]',
  examples: [
    ['geode memory add "Deploys run from the release branch" -c project -t deploy', 'stores a fact'],
    ['geode memory add --id notes/deploy --source notes.md < notes.md', 'stores stdin under a name'],
  ],
  options: {
    ...userOption,
    id: {
      type: 'string',
      value: 'ID',
      description: 'its name; storing under the same name makes a new version',
    },
    category: {
      type: 'string',
      value: 'NAME',
      short: 'c',
      description: 'core (default), project, conversation, daily, scratch or your own name',
    },
    tag: { type: 'string', value: 'TAG', short: 't', multiple: true, description: 'a tag; repeatable' },
    source: { type: 'string', description: 'the source (default: command line)' },
    'valid-until': {
      type: 'string',
      value: 'DATE',
      description: 'mark the entry as expired from this date on',
    },
    supersedes: {
      type: 'string',
      value: 'ID',
      multiple: true,
      description: 'id of an entry that this one replaces; repeatable',
    },
    thread: {
      type: 'string',
      value: 'NAME',
      description: 'the thread, such as a chat; a search also finds the neighbours in it',
    },
    order: { type: 'string', value: 'N', description: 'its position in the thread (default: last)' },
    context: {
      type: 'string',
      value: 'TEXT',
      description: 'surrounding text, such as the question that it answers',
    },
    date: {
      type: 'string',
      value: 'DATE',
      description: 'when it happened; searchable by day, month and year',
    },
  },
  async run(context) {
    const { positionals, json, out } = context;
    const { user, id, category, tag, source, supersedes, ...options } = parseValues(addValues, context);
    const { thread, order, context: around, date } = options;
    const validUntil = options['valid-until'];
    const content = positionals.length > 0 ? positionals.join(' ') : await text(process.stdin);
    const entry: WireNewEntry = {
      content,
      category,
      source,
      ...(id !== undefined && { id }),
      ...(tag && { tags: tag }),
      ...(validUntil && { valid_until: validUntil.toISOString() }),
      ...(supersedes && { supersedes }),
      ...(thread !== undefined && { thread }),
      ...(order !== undefined && { order }),
      ...(around !== undefined && { context: around }),
      ...(date && { date: date.toISOString() }),
    };
    const stored = await store(entry, checkUser(user), context);
    const scrubbed = stored.scrubbed > 0 ? `, ${stored.scrubbed} secrets left out` : '';
    out(json ? JSON.stringify(stored) : `${stored.outcome} ${stored.id}${scrubbed}`);
    return exitCodes.done;
  },
};

async function store(entry: WireNewEntry, user: string, context: CliContext): Promise<WireStored> {
  const { signal } = context;
  const asked = await askRunningHost(context, user, (host) => host.ingest(entry, { signal }));
  if (asked !== undefined) return asked.answer;
  const { finishIndexing, openSearchableMemory } = await import('../../connect/local-memory.ts');
  await using local = await openSearchableMemory(context);
  const stored = await local.store.in(user).store(newEntryOf(entry), { signal });
  await finishIndexing(local, context);
  return wireStored(stored);
}

const addValues = userValues.extend({
  id: newIdSchema.optional(),
  category: z.string().default('core'),
  tag: z.array(z.string()).optional(),
  source: z.string().default('command line'),
  'valid-until': z.coerce.date().optional(),
  supersedes: z.array(z.string()).optional(),
  thread: z.string().optional(),
  order: z.coerce.number().optional(),
  context: z.string().optional(),
  date: z.coerce.date().optional(),
});
