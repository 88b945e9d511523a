import { GeodeError } from '../../../base/errors.ts';
import { localUser } from '../../../base/identity.ts';
import { answerOf, filterOf, fusionOf, wireResult } from '../../../contract/memory-values.ts';
import type { Answer } from '../../../seams/memory.ts';
import { type CliCommand, type CliContext, exitCodes } from '../../command.ts';
import { askRunningHost } from '../../connect/running-api.ts';
import { filterOptions, namespaceOf, pagingOptions } from '../../input/memory-options.ts';
import { numberFrom, wrongUsage } from '../../input/values.ts';
import { renderAnswer } from '../../render/render-entries.ts';

export const memorySearchCommand: CliCommand = {
  name: 'memory search',
  summary: 'Search memory by meaning and by words',
  usage: 'TEXT …',
  examples: [
    ['geode memory search how do we deploy', 'the ten best, with the reason for each rank'],
    ['geode memory search ECONNREFUSED 5432 -c project --json', 'in one category, as JSON'],
    ['geode memory search --tokens 500 how do we deploy', "one text for a model's prompt"],
  ],
  options: {
    ...filterOptions,
    ...pagingOptions,
    fusion: {
      type: 'string',
      value: 'NAME',
      description: 'how to combine meaning and words: weighted (default) or rrf',
    },
    dense: {
      type: 'string',
      value: 'SHARE',
      description: 'weight of meaning in a weighted search, 0 to 1',
    },
    tokens: {
      type: 'string',
      value: 'N',
      description: "print the results as one text of at most about N tokens, for a model's prompt",
    },
  },
  async run(context) {
    const { positionals, json, out } = context;
    const options = searchValues(context);
    const text = positionals.join(' ');
    if (text.trim() === '') throw new GeodeError('empty_query', 'There is nothing to search for');
    const { block, ...answer } = await answerTo(text, options, context);
    if (block !== undefined) {
      out(json ? JSON.stringify({ block }) : block);
      return exitCodes.done;
    }
    out(
      json
        ? JSON.stringify({ ...answer, results: answer.results.map(wireResult) })
        : renderAnswer(answer, options.offset ?? 0),
    );
    return exitCodes.done;
  },
};

/** The answer, and the results as one block for a prompt where `--tokens` asks for it. */
type Found = Answer & { readonly block?: string };

async function answerTo(text: string, options: SearchValues, context: CliContext): Promise<Found> {
  const { signal } = context;
  const { chat, fusion, dense, tokens } = options;
  const filter = filterOf(options);
  const asked = await askRunningHost(context, options.user, (host) =>
    host.search(text, {
      ...filter,
      ...(chat !== undefined && { chat }),
      fusion,
      ...(dense !== undefined && { dense }),
      ...(tokens !== undefined && { tokens }),
      signal,
    }),
  );
  if (asked !== undefined) {
    const { block } = asked.answer;
    return { ...answerOf(asked.answer), ...(block !== undefined && { block }) };
  }
  const { openMemoryToSearch } = await import('../../connect/local-memory.ts');
  await using local = await openMemoryToSearch(context);
  const answer = await local.store
    .in(namespaceOf(options))
    .recall({ text, ...filter, fusion: fusionOf(options) }, { signal });
  if (tokens === undefined) return answer;
  const { promptBlock } = await import('../../../host/memory-alone.ts');
  return { ...answer, block: promptBlock(answer, tokens) };
}

type SearchValues = ReturnType<typeof searchValues>;

/** By hand: a schema takes longer to load than a search takes. */
function searchValues({ values }: CliContext) {
  const { user, chat, category, tag, source, strict, fusion = 'weighted' } = values;
  if (fusion !== 'weighted' && fusion !== 'rrf')
    throw wrongUsage(`--fusion: ${fusion} is neither weighted nor rrf`);
  return {
    user: typeof user === 'string' ? user : localUser,
    ...(typeof chat === 'string' && { chat }),
    ...(typeof category === 'string' && { category }),
    ...(Array.isArray(tag) && { tag: tag.map(String) }),
    ...(typeof source === 'string' && { source }),
    strict: strict === true,
    limit: numberFrom(values, 'limit'),
    offset: numberFrom(values, 'offset'),
    fusion,
    dense: numberFrom(values, 'dense', { least: 0, most: 1 }),
    tokens: numberFrom(values, 'tokens', { least: 50, most: 100_000, isWhole: true }),
  } as const;
}
