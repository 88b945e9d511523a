import { z } from 'zod';
import { decimal } from '../../../api/schemas/decimal.ts';
import { answerOf, filterOf, fusionOf, wireResult } from '../../../api/wire.ts';
import { GeodeError } from '../../../core/errors.ts';
import type { Answer } from '../../../core/memory.ts';
import { recallBlock } from '../../../solve/recall-block.ts';
import { type CliCommand, type CliContext, exitCodes } from '../../command.ts';
import { askRunningHost } from '../../connect/running-api.ts';
import { filterOptions, filterValues, pagingOptions } from '../../input/memory-options.ts';
import { parseValues } from '../../input/values.ts';
import { renderAnswer } from '../../render/render-entries.ts';

export const memorySearchCommand: CliCommand = {
  name: 'memory search',
  summary: 'search memory by meaning and by word',
  usage: 'TEXT …',
  examples: [
    ['geode memory search how do we deploy', 'the ten best, and why they rank so'],
    ['geode memory search ECONNREFUSED 5432 -c project --json', 'in one category, for a program'],
    ['geode memory search --tokens 500 how do we deploy', 'one text for the prompt of a model'],
  ],
  options: {
    ...filterOptions,
    ...pagingOptions,
    fusion: {
      type: 'string',
      value: 'NAME',
      description: 'how the halves are joined: weighted (default) or rrf',
    },
    dense: {
      type: 'string',
      value: 'SHARE',
      description: 'the share of meaning in a weighted search, 0 to 1',
    },
    tokens: {
      type: 'string',
      value: 'N',
      description: 'only a text for the prompt of a model: what was found, quoted, of about N tokens at most',
    },
  },
  async run(context) {
    const { positionals, json, out } = context;
    const options = parseValues(searchValues, context);
    const text = positionals.join(' ');
    if (text.trim() === '') throw new GeodeError('empty_query', 'There is nothing to search for');
    const answer = await answerTo(text, options, context);
    if (options.tokens !== undefined) {
      const entries = answer.results.map(({ entry }) => entry);
      const block = recallBlock([], entries, options.tokens).text;
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

async function answerTo(text: string, options: SearchValues, context: CliContext): Promise<Answer> {
  const { signal } = context;
  const { fusion, dense } = options;
  const filter = filterOf(options);
  const asked = await askRunningHost(context, options.user, (host) =>
    host.search(text, { ...filter, fusion, ...(dense !== undefined && { dense }), signal }),
  );
  if (asked !== undefined) return answerOf(asked.answer);
  const { openMemoryToSearch } = await import('../../input/local-files.ts');
  await using local = await openMemoryToSearch(context);
  return await local.store
    .in(options.user)
    .recall({ text, ...filter, fusion: fusionOf(options) }, { signal });
}

type SearchValues = z.infer<typeof searchValues>;

const searchValues = filterValues.extend({
  fusion: z.enum(['weighted', 'rrf']).default('weighted'),
  dense: decimal(z.number().min(0).max(1).optional()),
  tokens: decimal(z.int().min(50).max(100_000).optional()),
});
