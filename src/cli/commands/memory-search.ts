import { z } from 'zod';
import { filterOf, fusionOf, wireResult } from '../../api/wire.ts';
import { GeodeError } from '../../core/errors.ts';
import { type CliCommand, parseValues } from '../command.ts';
import { filterOptions, filterValues, pagingOptions } from '../memory-options.ts';
import { openLocalMemory } from '../open-memory.ts';
import { renderAnswer } from '../render-entries.ts';

export const command: CliCommand = {
  name: 'memory search',
  summary: 'Search memory by meaning and by word',
  examples: [
    'geode memory search how do we deploy',
    'geode memory search "ECONNREFUSED 5432" -c project --json',
  ],
  positionals: '<text…>',
  options: {
    ...filterOptions,
    ...pagingOptions,
    fusion: { type: 'string', description: 'How the halves are joined: weighted (default) or rrf' },
    dense: { type: 'string', description: 'The share of meaning in a weighted search, 0 to 1' },
  },
  async run(context) {
    const { values, positionals, json, out, signal } = context;
    const options = parseValues(searchValues, values);
    const text = positionals.join(' ');
    if (text.trim() === '') throw new GeodeError('empty_query', 'There is nothing to search for');
    await using local = await openLocalMemory(context);
    const query = { text, ...filterOf(options), fusion: fusionOf(options) };
    const answer = await local.store.in(options.user).recall(query, { signal });
    out(
      json
        ? JSON.stringify({ ...answer, results: answer.results.map(wireResult) })
        : renderAnswer(answer, options.offset ?? 0),
    );
    return 0;
  },
};

const searchValues = filterValues.extend({
  fusion: z.enum(['weighted', 'rrf']).default('weighted'),
  dense: z.coerce.number().min(0).max(1).optional(),
});
